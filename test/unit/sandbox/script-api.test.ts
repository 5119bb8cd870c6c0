import { describe, expect, test } from 'vitest';
import { ConnectionError, NotFoundError, OutcomeUnknownError, ServerError } from '../../../src/index.ts';
import { startTestApi } from './script-api-client.ts';
import { charge, findEvent, payment, receiveEvents } from './start-sandbox.ts';

test('tells a script what a shop needs', async () => {
  const { sandbox, payments, get } = await startTestApi({ returnUrl: 'https://shop.example/return' });
  await payments.initialize(payment);
  const { status, body } = await get('');
  expect(status).toBe(200);
  const { baseUrl, testKey, liveKey, url } = sandbox;
  expect(body).toMatchObject({ baseUrl, testKey, liveKey, url, transactions: 1 });
  expect(body).toMatchObject({ returnUrl: 'https://shop.example/return', webhookUrl: null });
  expect(Math.abs(body.now - Date.now())).toBeLessThan(60_000);
});

test('links only to existing paths', async () => {
  const { sandbox, get } = await startTestApi();
  const { links } = (await get('')).body;
  expect(Object.keys(links).length).toBeGreaterThan(5);
  for (const link of Object.values(links)) {
    const { status } = await fetch(`${sandbox.url}${link}`);
    expect([200, 405], `${link}`).toContain(status);
  }
});

describe('creates a transaction', () => {
  test('that a client of its mode verifies', async () => {
    const { sandbox, client, post } = await startTestApi();
    const { status, body } = await post('/transactions', { amount: 25.5, customer_email: 'ama@example.com' });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      mode: 'test',
      status: 'pending',
      reportedStatus: 'pending',
      amount: '25.50',
      currency: 'GHS',
      customer_email: 'ama@example.com',
      phone: null,
      network: null,
      paid_at: null,
      checkoutUrl: `${sandbox.url}/checkout/${body.reference}`,
      returnUrl: null,
      plan: null,
    });
    const { reference } = body;
    const testClient = client({ apiKey: sandbox.testKey });
    await expect(testClient.verify(reference)).resolves.toMatchObject({ reference, status: 'pending' });
    await expect(client().verify(reference)).rejects.toBeInstanceOf(NotFoundError);
    expect(await (await fetch(body.checkoutUrl)).text()).toContain('Pay GHS 25.50');
  });

  test('in the mode that it names, with its own way back', async () => {
    const { payments, get, post } = await startTestApi({ returnUrl: 'https://shop.example/return' });
    const returnUrl = 'https://other.example/back';
    const created = await post('/transactions', { ...payment, mode: 'live', currency: 'usd', returnUrl });
    expect(created.body).toMatchObject({ mode: 'live', currency: 'USD', returnUrl });
    const { reference } = created.body;
    await expect(payments.verify(reference)).resolves.toMatchObject({ currency: 'USD' });
    const usual = await post('/transactions', payment);
    expect((await get(`/transactions/${usual.body.reference}`)).body.returnUrl).toBe(
      'https://shop.example/return',
    );
  });

  test('that is a charge in live mode if it has a phone', async () => {
    const { sandbox, payments, post, page } = await startTestApi();
    const { body } = await post('/transactions', charge);
    expect(body).toMatchObject({
      mode: 'live',
      phone: charge.phone,
      network: 'mtn',
      checkoutUrl: null,
      plan: { status: 'failed', settleAt: body.createdAt + 300_000 },
    });
    expect(sandbox.charges).toHaveLength(1);
    expect(await page('/phone')).toContain(`id="${body.reference}"`);
    await expect(payments.verify(body.reference)).resolves.toMatchObject({ status: 'pending' });
  });

  test('that is a charge in test mode only if the sandbox allows it', async () => {
    const input = { ...charge, mode: 'test' };
    const strict = await startTestApi();
    const refused = await strict.post('/transactions', input);
    expect(refused.status).toBe(400);
    expect(refused.body.error.message).toContain('Nothing was created.');
    expect(strict.sandbox.transactions).toEqual([]);
    const lenient = await startTestApi({ allowTestCharges: true });
    expect((await lenient.post('/transactions', input)).body).toMatchObject({ mode: 'test' });
  });

  test.each(['success', 'failed', 'abandoned'])('that is %s at once', async (status) => {
    const { client, sandbox, post } = await startTestApi();
    const { body } = await post('/transactions', { ...payment, status });
    expect(body).toMatchObject({ status, paid_at: status === 'success' ? expect.any(String) : null });
    const { reference } = body;
    const testClient = client({ apiKey: sandbox.testKey });
    await expect(testClient.verify(reference)).resolves.toMatchObject({ status, paid_at: body.paid_at });
  });

  test('without a request of the shop, and without using up a fault', async () => {
    const { sandbox, post } = await startTestApi();
    sandbox.fault('initialize', { kind: 'responseLost' });
    expect((await post('/transactions', payment)).status).toBe(201);
    expect(sandbox.requests).toEqual([]);
  });
});

describe('moves a transaction', () => {
  async function startCharge() {
    const started = await startTestApi();
    const { reference } = await started.payments.chargeMobileMoney(charge);
    return { ...started, reference, path: `/transactions/${reference}` };
  }

  test.each([
    ['success', null],
    ['failed', 'declined'],
    ['abandoned', null],
  ])('to %s now, which ends a wait', async (status, failure) => {
    const { payments, post, reference, path } = await startCharge();
    const wait = payments.waitForFinalStatus(reference);
    expect((await post(path, { status })).body).toMatchObject({ status, failure });
    await expect(wait).resolves.toMatchObject({ status });
  });

  test('later, once the time has been advanced', async () => {
    const { payments, post, reference, path } = await startCharge();
    expect((await post(path, { status: 'success', after: 7_200_000 })).body).toMatchObject({
      status: 'pending',
      plan: { status: 'success', settleAt: expect.any(Number) },
    });
    await post('/advance', { milliseconds: 3_600_000 });
    await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'pending' });
    await post('/advance', { milliseconds: 3_600_000 });
    await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'success' });
  });

  test('by a script, one status for each verify', async () => {
    const { payments, post, reference, path } = await startCharge();
    const script = ['pending', 'processing', 'success'] as const;
    expect((await post(path, { script })).body.plan).toEqual({ script });
    for (const status of [...script, 'success'] as const)
      await expect(payments.verify(reference)).resolves.toMatchObject({ status });
  });

  test('that does not exist yet', async () => {
    const { payments, post } = await startTestApi();
    const verify = async () => (await payments.verify((await payments.initialize(payment)).reference)).status;
    expect((await post('/transactions/next', { status: 'failed' })).status).toBe(204);
    expect((await post('/transactions/next', { script: ['abandoned'] })).status).toBe(204);
    expect((await post('/transactions/next', { status: 'success', after: 60_000 })).status).toBe(204);
    expect([await verify(), await verify(), await verify()]).toEqual(['failed', 'abandoned', 'pending']);
  });

  test('only if it exists', async () => {
    const { post, get } = await startTestApi();
    expect((await post('/transactions/TXN-none', { status: 'success' })).status).toBe(404);
    expect((await get('/transactions/TXN-none')).status).toBe(404);
  });
});

describe('lists transactions', () => {
  const read = async (
    get: (path: string) => Promise<{ body: { transactions: { reference: string }[] } }>,
    query: string,
  ) => (await get(`/transactions${query}`)).body.transactions.map(({ reference }) => reference);

  test('newest first, page by page, and never one twice', async () => {
    const { sandbox, get, post } = await startTestApi();
    const created: string[] = [];
    for (let count = 0; count < 5; count++) {
      const mode = count === 2 ? 'live' : 'test';
      created.unshift((await post('/transactions', { ...payment, mode })).body.reference);
    }
    expect(await read(get, '')).toEqual(created);

    const seen: string[] = [];
    let next: string | null = '/sandbox/transactions?mode=test&limit=2';
    while (next !== null) {
      const page: Response = await fetch(sandbox.url + next);
      const body: { transactions: { reference: string }[]; next: string | null } = await page.json();
      seen.push(...body.transactions.map(({ reference }) => reference));
      // One more, as a busy shop makes it.
      await post('/transactions', payment);
      next = body.next;
    }
    expect(seen).toEqual(created.filter((_, index) => index !== 2));
    // The last page is full.
    expect((await get(`/transactions?before=${created[0]}&mode=test&limit=3`)).body.next).toBeNull();
  });

  test('of one status, one mode, or with a text in them', async () => {
    const { get, post } = await startTestApi();
    const create = async (input: object) => (await post('/transactions', input)).body.reference;
    const paid = await create({ ...payment, status: 'success' });
    const open = await create({ amount: '7.25', customer_email: 'KOFI@example.com' });
    const charged = await create(charge);
    expect(await read(get, '?status=success')).toEqual([paid]);
    expect(await read(get, '?mode=live')).toEqual([charged]);
    for (const search of ['kofi@', '7.25', open.toLowerCase()])
      expect(await read(get, `?search=${search}`)).toEqual([open]);
    expect(await read(get, '?search=024412')).toEqual([charged]);
    expect(await read(get, '?search=nobody')).toEqual([]);
    await post(`/transactions/${charged}`, { status: 'failed' });
    expect(await read(get, '?status=declined')).toEqual([charged]);
    expect(await read(get, '?status=expired')).toEqual([]);
  });

  test('at most a hundred by default', async () => {
    const { get, post } = await startTestApi();
    for (let count = 0; count < 101; count++) await post('/transactions', payment);
    expect(await read(get, '')).toHaveLength(100);
    expect(await read(get, '?limit=1000')).toHaveLength(101);
    expect((await get('/transactions')).body.total).toBe(101);
  });
});

test('shows a transaction with its requests, newest first', async () => {
  const { sandbox, payments, get } = await startTestApi();
  const { reference } = await payments.initialize(payment);
  await payments.initialize(payment);
  sandbox.fault('verify', { kind: 'status', status: 503 });
  await expect(payments.verify(reference)).rejects.toBeInstanceOf(ServerError);
  const { body } = await get(`/transactions/${reference}`);
  expect(body).toMatchObject({ reference, mode: 'live', webhooks: [] });
  expect(body.requests).toMatchObject([
    {
      operation: 'verify',
      method: 'GET',
      path: `/transactions/verify/${reference}`,
      mode: 'live',
      hasKey: true,
      body: null,
      reference,
      status: 503,
      fault: 'status',
      errorBody: expect.stringContaining('message'),
      duration: expect.any(Number),
      requestId: expect.any(String),
    },
    { operation: 'initialize', status: 200, errorBody: null, body: { amount: 25.5 } },
  ]);
});

test('lists requests of one operation or one transaction, newest first', async () => {
  const { sandbox, payments, get } = await startTestApi();
  const one = await payments.initialize(payment);
  const other = await payments.initialize(payment);
  await payments.verify(one.reference);
  await payments.verify(other.reference);
  await fetch(`${sandbox.baseUrl}/transactions/refund`);
  const read = async (query: string) =>
    (await get(`/requests${query}`)).body.requests.map(
      ({ operation, reference }: { operation: string; reference: string }) => [operation, reference],
    );
  const verifies = [
    ['verify', other.reference],
    ['verify', one.reference],
  ];
  expect(await read('?operation=verify')).toEqual(verifies);
  expect(await read(`?reference=${one.reference}`)).toEqual([
    ['verify', one.reference],
    ['initialize', one.reference],
  ]);
  expect(await read('?limit=2')).toEqual([[null, null], verifies[0]]);
  expect(await read('')).toHaveLength(5);
});

describe('orders faults', () => {
  const lost = { operation: 'chargeMobileMoney', fault: { kind: 'responseLost' } };

  test('that break the next requests of an operation, and no more', async () => {
    const { payments, get, post } = await startTestApi();
    const ordered = await post('/faults', { ...lost, times: 2 });
    expect(ordered.status).toBe(201);
    expect(ordered.body).toEqual({ faults: [{ ...lost, remaining: 2 }] });
    await expect(payments.chargeMobileMoney(charge)).rejects.toBeInstanceOf(OutcomeUnknownError);
    expect((await get('/faults')).body).toEqual({ faults: [{ ...lost, remaining: 1 }] });
    await expect(payments.chargeMobileMoney(charge)).rejects.toBeInstanceOf(OutcomeUnknownError);
    expect((await get('/faults')).body).toEqual({ faults: [] });
    await expect(payments.chargeMobileMoney(charge)).resolves.toMatchObject({ status: 'processing' });
  });

  test('once by default, and always until they are deleted', async () => {
    const { payments, get, post, remove } = await startTestApi();
    const { reference } = await payments.initialize(payment);
    await post('/faults', { operation: 'verify', fault: { kind: 'reset' } });
    await expect(payments.verify(reference)).rejects.toBeInstanceOf(ConnectionError);
    await payments.verify(reference);
    await post('/faults', { operation: 'verify', fault: { kind: 'reset' }, times: 'always' });
    for (let count = 0; count < 3; count++)
      await expect(payments.verify(reference)).rejects.toBeInstanceOf(ConnectionError);
    expect((await get('/faults')).body.faults).toMatchObject([{ remaining: 'always' }]);
    expect((await remove('/faults')).status).toBe(204);
    await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'pending' });
  });

  const kinds = [
    { kind: 'status', status: 502, body: 'html', headers: { 'x-cache': 'miss' }, accepted: true },
    { kind: 'status', status: 422, body: { message: 'No.' } },
    { kind: 'rateLimited', retryAfter: 5000 },
    { kind: 'hang', accepted: true },
    { kind: 'slowBody', interval: 10 },
    { kind: 'truncated' },
    { kind: 'wrongAmount', amount: '2.55' },
    { kind: 'wrongCurrency', currency: 'USD' },
    { kind: 'wrongReference', reference: 'TXN-another' },
    { kind: 'unrecognisedStatus', status: 'reversed' },
    { kind: 'lateApproval', after: 1000 },
  ];

  test('of every kind, with the fields of its type', async () => {
    const { post, remove } = await startTestApi();
    for (const fault of kinds) {
      const { status, body } = await post('/faults', { operation: 'chargeMobileMoney', fault });
      expect([status, body.faults]).toEqual([201, [{ operation: 'chargeMobileMoney', fault, remaining: 1 }]]);
      await remove('/faults');
    }
  });
});

test('finds charges that were made twice, within a time', async () => {
  const { payments, get, post } = await startTestApi();
  const first = await payments.chargeMobileMoney(charge);
  expect((await get('/double-charges')).body).toEqual({ doubleCharges: [] });
  await post('/advance', { milliseconds: 60_000 });
  const second = await payments.chargeMobileMoney(charge);
  const { doubleCharges } = (await get('/double-charges')).body;
  expect(doubleCharges).toEqual([
    {
      first: first.reference,
      second: second.reference,
      amount: '25.50',
      currency: 'GHS',
      apart: expect.any(Number),
    },
  ]);
  expect((await get('/double-charges?within=59000')).body.doubleCharges).toEqual([]);
});

test('advances the time, and a prompt expires', async () => {
  const { payments, get, post, page } = await startTestApi({ promptExpiry: 60_000 });
  const { reference } = await payments.chargeMobileMoney(charge);
  expect(await page('/phone')).toContain(`id="${reference}"`);
  const before = (await get('')).body.now;
  const { body } = await post('/advance', { milliseconds: 60_000 });
  expect(body.now - before).toBeGreaterThanOrEqual(60_000);
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'failed' });
  expect((await get(`/transactions/${reference}`)).body).toMatchObject({ failure: 'expired', plan: null });
  expect(await page('/phone')).not.toContain(`id="${reference}"`);
});

test('resets transactions, requests and faults', async () => {
  const { sandbox, payments, get, post } = await startTestApi();
  await payments.initialize(payment);
  sandbox.fault('initialize', { kind: 'reset' });
  expect((await post('/reset', {})).status).toBe(204);
  expect([sandbox.transactions, sandbox.requests]).toEqual([[], []]);
  expect((await get('/faults')).body).toEqual({ faults: [] });
});

describe('updates an open page after', () => {
  type Api = Awaited<ReturnType<typeof startTestApi>>;
  const changes: [string, (api: Api) => Promise<unknown>, string][] = [
    ['a new transaction', ({ post }) => post('/transactions', { ...payment, amount: 77.77 }), '77.77'],
    [
      'a fault',
      ({ post }) => post('/faults', { operation: 'verify', fault: { kind: 'wrongAmount', amount: '66.66' } }),
      '66.66',
    ],
    ['a reset', ({ post }) => post('/reset', {}), 'No fault is queued'],
  ];

  test.each(changes)('%s', async (_, change, text) => {
    const api = await startTestApi();
    const events = receiveEvents(`${api.sandbox.url}/events/dashboard`);
    await events.next();
    await api.post('/faults', { operation: 'verify', fault: { kind: 'wrongAmount', amount: '55.55' } });
    await findEvent(events, '55.55');
    await change(api);
    await findEvent(events, text);
  });

  test('a move', async () => {
    const { sandbox, payments, post } = await startTestApi();
    const { reference } = await payments.initialize(payment);
    const events = receiveEvents(`${sandbox.url}/events/dashboard`);
    await findEvent(events, reference);
    await post(`/transactions/${reference}`, { status: 'abandoned' });
    expect(await findEvent(events, reference)).toContain('abandoned');
  });
});
