import { describe, expect, test } from 'vitest';
import type { PaymentsEvent, Resolution } from '../../../src/index.ts';
import { createOrderPayments } from '../../../src/orders/index.ts';
import { createJournal, type Journal, memoryJournal, memoryStore } from '../../../src/stores/index.ts';
import { countDue } from '../../helpers/claims.ts';
import { kinds } from '../../helpers/journals.ts';
import { charged, KEY } from '../../helpers/keyed-calls.ts';
import { note } from '../../helpers/resolution-note.ts';
import {
  API_KEY,
  catchError,
  charge,
  PHONE,
  payment,
  sendJson,
  startService,
  successBodies,
} from '../../helpers/service.ts';

const LIVE_KEY = 'live_9fKq27LmXz';

/** A service that charges, loses its responses while `isLossy`, and knows the transactions that it made. */
async function startLossyService() {
  const state = { isLossy: true, isDown: false };
  const transactions = new Map<string, object>();
  const service = await startService((response, { method, path }) => {
    if (state.isDown) return response.destroy();
    if (method === 'POST') {
      const reference = `TXN-${transactions.size + 1}`;
      transactions.set(reference, { status: 'success' });
      if (state.isLossy) return response.destroy();
      const operation = path.endsWith('initialize') ? 'initialize' : 'chargeMobileMoney';
      return sendJson(response, 200, successBodies[operation]({ reference }));
    }
    const reference = decodeURIComponent(path.split('/').at(-1) ?? '');
    const found = transactions.get(reference);
    if (!found) return sendJson(response, 404, { status: false, message: 'no such transaction' });
    return sendJson(response, 200, successBodies.verify({ reference, ...found }));
  });
  return { service, state, transactions };
}

/** Two keys whose responses were lost: `order-17` is TXN-1, `order-18` is TXN-2. */
async function startUnresolved(journal: Journal = memoryJournal()) {
  const { service, state, transactions } = await startLossyService();
  const events: PaymentsEvent[] = [];
  const payments = service.client({ journal, onEvent: (event) => events.push(event) });
  await catchError(charged(payments));
  await catchError(payments.chargeMobileMoney(charge, { idempotencyKey: 'order-18' }));
  state.isLossy = false;
  return { service, state, transactions, payments, journal, events };
}

const chargesOf = ({ requests }: { requests: readonly { method: string }[] }) =>
  requests.filter(({ method }) => method === 'POST').length;

describe.each(kinds)('an unresolved key in %s', (_kind, handles) => {
  test('is resolved with a reference that the service confirms', async () => {
    const { service, payments, journal } = await startUnresolved(handles()());
    expect(await payments.resolve(KEY, { reference: 'TXN-1' }, note)).toMatchObject({
      key: KEY,
      state: 'completed',
      reference: 'TXN-1',
      resolutions: [{ ...note, resolution: { reference: 'TXN-1' }, at: expect.any(Number) }],
    });
    expect(await charged(payments)).toMatchObject({ reference: 'TXN-1', replayed: true, message: '' });
    expect(chargesOf(service)).toBe(2);
    expect(await journal.read('order-18')).toMatchObject({ state: 'unknown' });
  });

  test('is freed with not_charged, and keeps its history', async () => {
    const { service, payments, journal } = await startUnresolved(handles()());
    expect(await payments.resolve(KEY, 'not_charged', note)).toMatchObject({ state: 'not_charged' });
    expect(await charged(payments)).toMatchObject({ reference: 'TXN-3' });
    expect(chargesOf(service)).toBe(3);
    expect(await journal.read(KEY)).toMatchObject({
      state: 'completed',
      reference: 'TXN-3',
      attempts: 2,
      requestIds: [expect.any(String), expect.any(String)],
      resolutions: [{ ...note, resolution: 'not_charged' }],
    });
  });

  test('is listed and counted until it is resolved', async () => {
    const { payments, journal } = await startUnresolved(handles()());
    const unresolved = async () => {
      const keys: string[] = [];
      for await (const { key } of journal.list({ state: 'unknown' })) keys.push(key);
      return keys;
    };
    expect(await unresolved()).toEqual([KEY, 'order-18']);
    expect(await journal.count()).toEqual({ records: 2, attention: 2 });
    await payments.resolve(KEY, { reference: 'TXN-1' }, note);
    expect(await unresolved()).toEqual(['order-18']);
    expect(await journal.count()).toEqual({ records: 2, attention: 1 });
  });
});

describe('an attempt to resolve a key wrongly', () => {
  const wrong: [string, Resolution, object][] = [
    ['a reference that does not exist', { reference: 'TXN-404' }, { name: 'JournalError', retryable: false }],
    ['a reference in lower case', { reference: 'txn-1' }, { name: 'ConfigurationError' }],
    ['a reference with a path', { reference: 'TXN-1/../2' }, { name: 'ConfigurationError' }],
    ['a boolean', JSON.parse('true'), { name: 'ConfigurationError' }],
    ['another word', JSON.parse('"charged"'), { name: 'ConfigurationError' }],
  ];
  test.each(wrong)('changes nothing with %s', async (_what, resolution, error) => {
    const { payments, journal } = await startUnresolved();
    const before = await journal.read(KEY);
    expect(await catchError(payments.resolve(KEY, resolution, note))).toMatchObject(error);
    expect({ ...(await journal.read(KEY)), updatedAt: 0 }).toEqual({ ...before, updatedAt: 0 });
  });

  test("refuses another key's reference, whether charged or resolved", async () => {
    const { payments, journal } = await startUnresolved();
    await payments.resolve('order-18', { reference: 'TXN-2' }, note);
    const made = await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-19' });
    for (const reference of ['TXN-2', made.reference]) {
      const failure = await catchError(payments.resolve(KEY, { reference }, note));
      expect(failure).toMatchObject({ name: 'JournalError', retryable: false });
      expect(String(failure)).toContain('one transaction cannot pay for two');
    }
    expect(await journal.read(KEY)).toMatchObject({ state: 'unknown', resolutions: [] });
  });

  test("refuses another key's reference in other case", async () => {
    const { transactions, payments } = await startUnresolved();
    transactions.set('TXN-aB', {}).set('TXN-Ab', {});
    await payments.resolve('order-18', { reference: 'TXN-aB' }, note);
    expect(await catchError(payments.resolve(KEY, { reference: 'TXN-Ab' }, note))).toMatchObject({
      name: 'JournalError',
    });
  });

  test("refuses another key's reference without a list in the store", async () => {
    const { read, write } = memoryStore();
    const { journal } = await startUnresolved(createJournal({ read, write }));
    await journal.resolve('order-18', { reference: 'TXN-2' }, note);
    expect(await catchError(journal.resolve(KEY, { reference: 'TXN-2' }, note))).toMatchObject({
      name: 'JournalError',
    });
  });

  test('refuses a client of the other mode, before it asks the service', async () => {
    const { service, journal } = await startUnresolved();
    const live = service.client({ journal, apiKey: LIVE_KEY });
    const asked = service.requests.length;
    for (const resolution of [{ reference: 'TXN-1' }, 'not_charged'] as const)
      expect(await catchError(live.resolve(KEY, resolution, note))).toMatchObject({
        name: 'ConfigurationError',
      });
    expect(service.requests).toHaveLength(asked);
    expect(await journal.read(KEY)).toMatchObject({ state: 'unknown' });
  });

  test('changes nothing while the service is down', async () => {
    const { state, payments, journal } = await startUnresolved();
    state.isDown = true;
    const failure = await catchError(payments.resolve(KEY, { reference: 'TXN-1' }, note));
    expect(failure).toMatchObject({ name: 'ConnectionError', outcome: null });
    expect(await journal.read(KEY)).toMatchObject({ state: 'unknown', resolutions: [] });
  });

  test('refuses a key without a record', async () => {
    const { payments } = await startUnresolved();
    expect(await catchError(payments.resolve('order-99', { reference: 'TXN-1' }, note))).toMatchObject({
      name: 'JournalError',
    });
  });

  test('overrules nothing that the service returned', async () => {
    const { payments, journal } = await startUnresolved();
    const { reference } = await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-19' });
    for (const resolution of [{ reference: 'TXN-1' }, 'not_charged'] as const)
      expect(String(await catchError(payments.resolve('order-19', resolution, note)))).toContain(
        'There is nothing to resolve about it',
      );
    expect(await journal.read('order-19')).toMatchObject({ state: 'completed', reference, resolutions: [] });
  });

  test('refuses not_charged if the service has the transaction that it named', async () => {
    const journal = memoryJournal();
    const service = await startService((response, { method }) =>
      method === 'POST'
        ? sendJson(response, 502, { error: 'TXN-7 was accepted' })
        : sendJson(response, 200, successBodies.verify({ reference: 'TXN-7' })),
    );
    const payments = service.client({ journal });
    await catchError(charged(payments));
    expect(await journal.read(KEY)).toMatchObject({
      reference: 'TXN-7',
      error: { code: 'server_error', status: 502 },
    });
    const failure = await catchError(payments.resolve(KEY, 'not_charged', note));
    expect(String(failure)).toContain('The service has the transaction that was named');
    expect(await journal.read(KEY)).toMatchObject({ state: 'unknown' });
    // Nor is it refused for a while only: what was closed is not reopened by it.
    await payments.resolve(KEY, 'closed', note);
    expect(await catchError(payments.resolve(KEY, 'not_charged', note))).toMatchObject({
      name: 'JournalError',
    });
    expect(await journal.read(KEY)).toMatchObject({
      state: 'closed',
      resolutions: [{ resolution: 'closed' }],
    });
  });
});

describe('several persons', () => {
  test('resolve one key at once: one counts', async () => {
    const { transactions, payments, journal } = await startUnresolved();
    transactions.set('TXN-11', {}).set('TXN-12', {});
    const results = await Promise.allSettled(
      ['TXN-1', 'TXN-11', 'TXN-12'].map((reference) => payments.resolve(KEY, { reference }, note)),
    );
    const entry = await journal.read(KEY);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(entry?.resolutions).toMatchObject([{ resolution: { reference: entry?.reference } }]);
  });

  test('are refused if they decided on what was shown before', async () => {
    const { transactions, payments, journal } = await startUnresolved();
    transactions.set('TXN-11', {});
    const shown = await journal.read(KEY);
    await payments.resolve(KEY, { reference: 'TXN-1' }, { ...note, by: 'ama@shop.example' });
    const late = { ...note, revision: shown?.revision };
    const failure = await catchError(payments.resolve(KEY, { reference: 'TXN-11' }, late));
    expect(String(failure)).toContain('changed meanwhile by ama@shop.example');
    expect(await journal.read(KEY)).toMatchObject({ reference: 'TXN-1' });
    // The same resolution twice is harmless.
    await payments.resolve(KEY, { reference: 'TXN-1' }, late);
  });

  test('never give one reference to two keys at once', async () => {
    for (let round = 0; round < 20; round++) {
      const { payments, journal } = await startUnresolved();
      const reference = 'TXN-1';
      await Promise.allSettled([
        payments.resolve(KEY, { reference }, note),
        payments.resolve('order-18', { reference }, note),
      ]);
      const entries = [await journal.read(KEY), await journal.read('order-18')];
      expect(entries.filter((entry) => entry?.reference === reference).length).toBe(1);
    }
  });

  test('resolve a mistake again, and both stay in the history', async () => {
    const { transactions, payments } = await startUnresolved();
    transactions.set('TXN-11', { status: 'failed' });
    await payments.resolve(KEY, { reference: 'TXN-11' }, note);
    await payments.resolve(KEY, 'not_charged', note);
    const correction = { by: 'ama@shop.example', reason: 'the other order had no charge' };
    const entry = await payments.resolve(KEY, { reference: 'TXN-1' }, correction);
    expect(entry.resolutions).toMatchObject([
      { resolution: { reference: 'TXN-11' } },
      { resolution: 'taken_back' },
      { resolution: 'not_charged' },
      { resolution: 'taken_back' },
      { resolution: { reference: 'TXN-1' }, ...correction },
    ]);
    // The wrong reference is free again.
    await payments.resolve('order-18', { reference: 'TXN-11' }, note);
  });

  test('take back nothing that the service paid', async () => {
    const { payments, journal } = await startUnresolved();
    await payments.resolve(KEY, { reference: 'TXN-1' }, note);
    const failure = await catchError(payments.resolve(KEY, 'not_charged', note));
    expect(String(failure)).toContain('This payment pays its order: that stands');
    for (const resolution of ['not_charged', 'closed', { reference: 'TXN-2' }] as const)
      expect(await catchError(journal.resolve(KEY, resolution, note))).toMatchObject({
        name: 'JournalError',
      });
    expect(await journal.read(KEY)).toMatchObject({ state: 'completed', resolutions: [{ resolution: {} }] });
  });

  test('do not overrule each other while the service is asked', async () => {
    const { service, payments, journal, respond } = await startMismatch();
    await payments.check('TXN-1');
    respond(async () => {
      await journal.resolve(KEY, 'closed', { ...note, by: 'ama@shop.example' });
    });
    const failure = await catchError(payments.resolve(KEY, 'accepted', note));
    expect(String(failure)).toContain('changed meanwhile by ama@shop.example');
    expect(await journal.read(KEY)).toMatchObject({
      state: 'closed',
      resolutions: [{ resolution: 'closed' }],
    });
    expect(chargesOf(service)).toBe(1);
  });
});

/** A key whose transaction, TXN-1, has another amount and this status. */
async function startMismatch(status = 'success', amount = '2.55') {
  let meanwhile: () => unknown = () => {};
  const service = await startService(async (response, { method }) => {
    const fields = { reference: 'TXN-1', amount: '2.55' };
    if (method === 'POST') return sendJson(response, 200, successBodies.chargeMobileMoney(fields));
    await meanwhile();
    return sendJson(response, 200, successBodies.verify({ ...fields, amount, status }));
  });
  const events: PaymentsEvent[] = [];
  const journal = memoryJournal();
  const payments = service.client({ journal, onEvent: (event) => events.push(event) });
  expect(await catchError(charged(payments))).toMatchObject({ code: 'transaction_mismatch' });
  const respond = (work: () => unknown) => {
    meanwhile = work;
  };
  return { service, payments, journal, events, respond };
}

describe('a transaction of another amount', () => {
  test.each([{ amount: '25.49' }, { currency: 'NGN' }])('with %o is taken, and listed', async (facts) => {
    const { transactions, payments, journal } = await startUnresolved();
    transactions.set('TXN-1', facts);
    const entry = await payments.resolve(KEY, { reference: 'TXN-1' }, note);
    expect(entry).toMatchObject({ state: 'completed', reference: 'TXN-1', attention: 'mismatch' });
    expect(await catchError(charged(payments))).toMatchObject({ code: 'transaction_mismatch' });
    expect(await journal.count()).toEqual({ records: 2, attention: 2 });
  });

  test('is accepted once the service says success', async () => {
    const { service, payments, journal, events } = await startMismatch();
    expect(await payments.resolve(KEY, 'accepted', note)).toMatchObject({
      state: 'completed',
      reference: 'TXN-1',
      status: 'success',
      resolutions: [{ ...note, resolution: 'accepted' }],
    });
    expect(events.at(-1)).toMatchObject({ type: 'resolved', result: 'charged', reference: 'TXN-1' });
    expect(await journal.count()).toEqual({ records: 1, attention: 0 });
    expect(await catchError(payments.resolve(KEY, 'closed', note))).toMatchObject({ name: 'JournalError' });
    expect(chargesOf(service)).toBe(1);
  });

  test('is not accepted before the service says success', async () => {
    const { payments, journal } = await startMismatch('pending');
    const failure = await catchError(payments.resolve(KEY, 'accepted', note));
    expect(String(failure)).toContain('"accepted" does not fit this payment. Nothing was changed.');
    expect(await journal.read(KEY)).toMatchObject({ attention: 'mismatch', resolutions: [] });
  });

  test('is not accepted if it has another amount than the person saw', async () => {
    const { payments, journal } = await startMismatch('success', '2.50');
    const shown = await journal.read(KEY);
    const late = { ...note, revision: shown?.revision };
    const failure = await catchError(payments.resolve(KEY, 'accepted', late));
    expect(String(failure)).toContain('changed meanwhile');
    expect(await journal.read(KEY)).toMatchObject({ attention: 'mismatch', resolutions: [] });
    expect(await payments.resolve(KEY, 'accepted', note)).toMatchObject({ attention: undefined });
  });

  test('is not accepted by a person who saw it before a check', async () => {
    const { payments, journal } = await startMismatch('pending');
    const shown = await journal.read(KEY);
    await catchError(payments.resolve(KEY, 'accepted', note));
    const late = { ...note, revision: shown?.revision };
    const failure = await catchError(payments.resolve(KEY, 'closed', late));
    expect(String(failure)).toContain('changed meanwhile');
    expect(await journal.read(KEY)).toMatchObject({ state: 'completed', resolutions: [] });
  });

  test('is never charged again and no longer followed once closed', async () => {
    const { service, payments, journal, events } = await startMismatch();
    expect(await payments.resolve(KEY, 'closed', note)).toMatchObject({
      state: 'closed',
      reference: 'TXN-1',
      resolutions: [{ ...note, resolution: 'closed' }],
    });
    expect(events.at(-1)).toMatchObject({ type: 'resolved', result: 'closed', reference: 'TXN-1' });
    const failure = await catchError(charged(payments));
    expect(failure).toMatchObject({ code: 'outcome_unknown', outcome: 'unknown', reference: 'TXN-1' });
    expect(String(failure)).toContain('closed key');
    expect(Object(failure).message.length).toBeLessThanOrEqual(200);
    const other = payments.chargeMobileMoney({ ...charge, amount: 40 }, { idempotencyKey: KEY });
    expect(await catchError(other)).toMatchObject({ code: 'idempotency_conflict' });
    expect(chargesOf(service)).toBe(1);
    expect(await journal.count()).toEqual({ records: 1, attention: 0 });
    expect(await countDue(journal)).toEqual({ due: 0, nextIn: null });
  });

  test('is reopened by nothing that does not fit it', async () => {
    const { payments, journal } = await startMismatch();
    await payments.resolve(KEY, 'closed', note);
    expect(await catchError(payments.resolve(KEY, 'not_charged', note))).toMatchObject({
      name: 'JournalError',
    });
    expect(await journal.read(KEY)).toMatchObject({
      state: 'closed',
      resolutions: [{ resolution: 'closed' }],
    });
    expect(await payments.resolve(KEY, 'accepted', note)).toMatchObject({
      state: 'completed',
      resolutions: [{ resolution: 'closed' }, { resolution: 'taken_back' }, { resolution: 'accepted' }],
    });
  });
});

test('closes nothing about which nothing is wrong', async () => {
  const service = await startService();
  const payments = service.client({ journal: memoryJournal() });
  await charged(payments);
  const failure = await catchError(payments.resolve(KEY, 'closed', note));
  expect(String(failure)).toContain('There is nothing to resolve about it.');
});

test('takes a reference after all for a key that was closed', async () => {
  const { payments } = await startUnresolved();
  await payments.resolve(KEY, 'closed', note);
  expect(await payments.resolve(KEY, { reference: 'TXN-1' }, note)).toMatchObject({
    state: 'completed',
    reference: 'TXN-1',
    resolutions: [
      { resolution: 'closed' },
      { resolution: 'taken_back' },
      { resolution: { reference: 'TXN-1' } },
    ],
  });
});

describe('an order', () => {
  /** The order `order-17` has one payment, TXN-3, beside the keys of {@link startUnresolved}. */
  async function startOrder() {
    const started = await startUnresolved();
    const { payments, journal } = started;
    const orders = createOrderPayments({ payments, journal, onPaid: () => {}, onAttention: () => {} });
    await orders.charge(KEY, { ...charge, network: 'mtn' });
    return { ...started, orders };
  }

  test('gets a transaction that belongs to it, once', async () => {
    const { transactions, payments, journal, orders } = await startOrder();
    transactions.set('TXN-9', {});
    const named = `order ${KEY}`;
    expect(await payments.resolve(named, { reference: 'TXN-9' }, note)).toMatchObject({
      key: `${KEY}/2`,
      state: 'completed',
      reference: 'TXN-9',
      attempts: 0,
    });
    expect(await payments.resolve(named, { reference: 'TXN-9' }, note)).toMatchObject({ key: `${KEY}/2` });
    expect((await orders.read(KEY)).payments.map(({ reference }) => reference)).toEqual(['TXN-3', 'TXN-9']);
    for (const resolution of ['closed', 'not_charged'] as const)
      expect(String(await catchError(journal.resolve(named, resolution, note)))).toContain(
        'name one of its payments',
      );
  });

  test('gets no transaction of a key, and lists nothing of the attempt', async () => {
    const { payments, journal, orders } = await startOrder();
    await payments.resolve('order-18', { reference: 'TXN-2' }, note);
    const failure = await catchError(payments.resolve(`order ${KEY}`, { reference: 'TXN-2' }, note));
    expect(String(failure)).toContain('one transaction cannot pay for two');
    expect((await orders.read(KEY)).payments).toMatchObject([{ reference: 'TXN-3' }, { key: `${KEY}/2` }]);
    expect(await journal.read(`${KEY}/2`)).toMatchObject({ state: 'closed', attention: undefined });
  });

  test('is told from a key of its name, and its payment from one', async () => {
    const { payments, journal } = await startOrder();
    const ambiguous = await catchError(payments.resolve(KEY, { reference: 'TXN-1' }, note));
    expect(String(ambiguous)).toContain(`fits two. Name it "order ${KEY}" or "key ${KEY}"`);
    await payments.chargeMobileMoney(charge, { idempotencyKey: `${KEY}/1` });
    expect(String(await catchError(journal.read(`${KEY}/1`)))).toContain(
      `fits two. Name it "order ${KEY}/1" or "key ${KEY}/1"`,
    );
    expect(await journal.read(`order ${KEY}/1`)).toMatchObject({ reference: 'TXN-3' });
    expect(await payments.resolve(`key ${KEY}`, { reference: 'TXN-1' }, note)).toMatchObject({ key: KEY });
  });
});

test('frees a key whose transaction is that of another payment', async () => {
  const service = await startService((response, { method }) => {
    const operation = method === 'POST' ? 'chargeMobileMoney' : 'verify';
    sendJson(response, 200, successBodies[operation]({ reference: 'TXN-1' }));
  });
  const payments = service.client({ journal: memoryJournal() });
  await charged(payments);
  await catchError(charged(payments, { idempotencyKey: 'order-18' }));
  expect(await payments.resolve('order-18', 'not_charged', note)).toMatchObject({ state: 'not_charged' });
});

test('refuses a resolution while the process that began the key sends', async () => {
  const arrived = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const service = await startService(async (response, { method }) => {
    if (method !== 'POST') return sendJson(response, 200, successBodies.verify());
    arrived.resolve();
    await release.promise;
    return sendJson(response, 200, successBodies.chargeMobileMoney());
  });
  const journal = memoryJournal();
  const payments = service.client({ journal });
  const call = charged(payments);
  await arrived.promise;
  for (const resolution of [{ reference: 'TXN-8f2c61d0' }, 'not_charged'] as const) {
    const failure = await catchError(payments.resolve(KEY, resolution, note));
    expect(failure).toMatchObject({ name: 'JournalError', retryable: true });
  }
  release.resolve();
  expect(await call).toMatchObject({ reference: 'TXN-8f2c61d0' });
  expect(await journal.read(KEY)).toMatchObject({ state: 'completed', resolutions: [] });
});

test('leaves a key unresolved whose transaction a person gave to another one meanwhile', async () => {
  const arrived = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const service = await startService(async (response, { method }, count) => {
    if (method !== 'POST') return sendJson(response, 200, successBodies.verify());
    if (count === 1) return response.destroy();
    arrived.resolve();
    await release.promise;
    return sendJson(response, 200, successBodies.chargeMobileMoney());
  });
  const journal = memoryJournal();
  const payments = service.client({ journal });
  await catchError(charged(payments));
  const slow = catchError(payments.chargeMobileMoney(charge, { idempotencyKey: 'order-18' }));
  await arrived.promise;
  // The person found the charge of order-18, whose response is on its way.
  await payments.resolve(KEY, { reference: 'TXN-8f2c61d0' }, note);
  release.resolve();
  expect(await slow).toMatchObject({ code: 'outcome_unknown', reference: 'TXN-8f2c61d0' });
  expect(await journal.read('order-18')).toMatchObject({ state: 'unknown', attention: 'shared_reference' });
});

describe('a resolution', () => {
  test.each([
    [{ by: '', reason: 'x' }, 'by must be text'],
    [{ by: 'kofi' }, 'reason must be text'],
    [{ by: 'kofi', reason: 'two\nlines' }, 'reason must be text'],
    [{ by: 'k'.repeat(201), reason: 'x' }, 'by must be text of 1 to 200'],
    [undefined, 'A resolution needs { by, reason }'],
    [{ ...note, becuase: 1 }, 'becuase'],
  ])('needs by and reason: %o', async (given, message) => {
    const { payments, journal } = await startUnresolved();
    const options: typeof note = JSON.parse(JSON.stringify(given ?? null));
    const failure = await catchError(payments.resolve(KEY, 'not_charged', options));
    expect(failure).toMatchObject({ name: 'ConfigurationError', outcome: null });
    expect(String(failure)).toContain(message);
    expect(await journal.read(KEY)).toMatchObject({ state: 'unknown' });
  });

  test('needs a journal', async () => {
    const service = await startService((response) => response.destroy());
    expect(await catchError(service.client().resolve(KEY, 'not_charged', note))).toMatchObject({
      name: 'ConfigurationError',
    });
  });

  test('stores no phone number, email of a customer or API key', async () => {
    const { payments, journal } = await startUnresolved();
    const reason = `called ${PHONE} and ama.serwaa@example.com with ${API_KEY}`;
    await payments.resolve(KEY, 'not_charged', { by: `kofi ${API_KEY}`, reason });
    const text = JSON.stringify(await journal.read(KEY));
    for (const secret of [PHONE, 'ama.serwaa@example.com', API_KEY]) expect(text).not.toContain(secret);
  });

  test('is reported once as an event', async () => {
    const { payments, events } = await startUnresolved();
    await payments.resolve(KEY, { reference: 'TXN-1' }, note);
    await payments.resolve(KEY, { reference: 'TXN-1' }, note);
    expect(events.filter(({ type }) => type === 'resolved')).toEqual([
      {
        type: 'resolved',
        operation: 'chargeMobileMoney',
        idempotencyKey: KEY,
        result: 'charged',
        reference: 'TXN-1',
        by: note.by,
      },
    ]);
  });

  test('of a checkout payment is replayed with its checkout_url', async () => {
    const { service, state } = await startLossyService();
    const journal = memoryJournal();
    const payments = service.client({ journal });
    for (const idempotencyKey of [KEY, 'order-18'])
      await catchError(payments.initialize(payment, { idempotencyKey }));
    state.isLossy = false;
    const checkout_url = 'https://pay.example/checkout/TXN-1';
    await payments.resolve(KEY, { reference: 'TXN-1', checkout_url }, note);
    expect(await payments.initialize(payment, { idempotencyKey: KEY })).toMatchObject({ checkout_url });
    await payments.resolve('order-18', { reference: 'TXN-2' }, note);
    const replay = payments.initialize(payment, { idempotencyKey: 'order-18' });
    expect(await catchError(replay)).toMatchObject({ code: 'outcome_unknown', reference: 'TXN-2' });
    expect(chargesOf(service)).toBe(2);
  });

  test('rejects with a JournalError whatever a store throws', async () => {
    const broken = createJournal({
      ...memoryStore(),
      read: async () => {
        throw new Error(`postgres://user:secret-9@db is gone`);
      },
    });
    const { service } = await startLossyService();
    const failure = await catchError(service.client({ journal: broken }).resolve(KEY, 'not_charged', note));
    expect(failure).toMatchObject({ name: 'JournalError', retryable: true });
  });

  test('fails after close', async () => {
    const { payments } = await startUnresolved();
    payments.close();
    expect(await catchError(payments.resolve(KEY, 'not_charged', note))).toMatchObject({
      name: 'ClosedError',
    });
  });
});
