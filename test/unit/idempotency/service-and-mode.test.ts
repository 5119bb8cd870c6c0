import { describe, expect, test } from 'vitest';
import { ConfigurationError, type PaymentsClient } from '../../../src/index.ts';
import { createOrderPayments } from '../../../src/orders/index.ts';
import type { Journal } from '../../../src/stores/index.ts';
import { kinds, sharedStore } from '../../helpers/journals.ts';
import { charged, KEY, keyed, posts } from '../../helpers/keyed-calls.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError, charge, payment, sendJson, startService, successBodies } from '../../helpers/service.ts';

const TEST_KEY = 'sk_test_4vK9qLm2Xw7RtZ';
const LIVE_KEY = 'sk_live_4vK9qLm2Xw7RtZ';

const serve = (name = 'TXN-') =>
  startService((response, { path }, count) => {
    const reference = `${name}${count}`;
    const made = path.endsWith('initialize')
      ? successBodies.initialize({ reference, checkout_url: `https://pay.example/checkout/${reference}` })
      : successBodies.chargeMobileMoney({ reference });
    sendJson(response, 200, made);
  });

describe.each(kinds)('a journal in %s', (_kind, handles) => {
  test.each(posts)('refuses %s under a key of another service, and changes nothing', async (operation) => {
    const handle = handles();
    const [service, other] = [await serve(), await serve('TXN-OTHER')];
    await charged(service.client({ journal: handle() }));
    const before = await handle().read(KEY);
    const client = other.client({ journal: handle() });
    const failure = await catchError(keyed[operation](client));
    expect(failure).toBeInstanceOf(ConfigurationError);
    expect(failure).toMatchObject({ operation, outcome: 'not_sent', retryable: false });
    expect(String(failure)).toContain('of another base URL or mode');
    expect(Object(failure).message.length).toBeLessThanOrEqual(200);
    for (const resolution of ['not_charged', 'closed', { reference: 'TXN-1' }] as const)
      expect(await catchError(client.resolve(KEY, resolution, note))).toMatchObject({
        name: 'ConfigurationError',
        outcome: null,
      });
    expect(other.requests).toEqual([]);
    expect(await handle().read(KEY)).toEqual(before);
    // A key of its own is its own.
    const own = await keyed[operation](client, { idempotencyKey: 'order-18' });
    expect(own).toMatchObject({ replayed: false });
  });

  test.each([
    [TEST_KEY, LIVE_KEY],
    [LIVE_KEY, TEST_KEY],
  ])('that has a key of %s refuses it to %s, and sends nothing', async (first, second) => {
    const handle = handles();
    const service = await serve();
    await charged(service.client({ journal: handle(), apiKey: first }));
    for (const apiKey of [second, () => second]) {
      const failure = await catchError(charged(service.client({ journal: handle(), apiKey })));
      expect(failure).toBeInstanceOf(ConfigurationError);
      expect(String(failure)).toContain('of another base URL or mode (test or live)');
    }
    expect(service.requests).toHaveLength(1);
    // Another key of the same mode is a rotation.
    for (const apiKey of [`${first}2`, () => `${first}3`])
      expect(await charged(service.client({ journal: handle(), apiKey }))).toMatchObject({ replayed: true });
  });

  test('refuses every call for an order of another service, before it checks', async () => {
    const handle = handles();
    const [service, other] = [await serve(), await serve()];
    const open = (client: PaymentsClient, journal: Journal) =>
      createOrderPayments({ payments: client, journal, onPaid: () => {}, onAttention: () => {} });
    const journal = handle();
    const input = { ...charge, network: 'mtn' } as const;
    await open(service.client({ journal }), journal).charge('17', input);
    const before = await journal.read('17/1');
    const others = handle();
    const foreign = open(other.client({ journal: others }), others);
    const calls = [
      () => foreign.charge('17', input),
      () => foreign.charge('17', { ...input, amount: 'wrong' }),
      () => foreign.charge('17', input, { startAnother: true }),
      () => foreign.checkout('17', payment),
      () => foreign.read('17'),
      () => foreign.wait('17', { timeout: 0 }),
    ];
    for (const call of calls) expect(await catchError(call())).toBeInstanceOf(ConfigurationError);
    expect(other.requests).toEqual([]);
    expect(await journal.read('17/1')).toEqual(before);
  });

  test('shows the same service for every key of a client, and no address', async () => {
    const handle = handles();
    const service = await serve();
    const client = service.client({ journal: handle() });
    await charged(client);
    await charged(client, { idempotencyKey: 'order-18' });
    const [one, two] = [await handle().read(KEY), await handle().read('order-18')];
    expect(one?.service).toMatch(/^[\da-f]{64}$/);
    expect(two?.service).toBe(one?.service);
  });
});

test('lets one of two services have a key that both press at once', async () => {
  const shared = sharedStore();
  const services = [await serve(), await serve()];
  const calls = services.map((service) => charged(service.client({ journal: shared.journal() })));
  const ends = await Promise.allSettled(calls);
  expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  const refusal = ends.find((end) => end.status === 'rejected');
  expect(refusal?.reason).toBeInstanceOf(ConfigurationError);
  expect(services.map(({ requests }) => requests.length).sort()).toEqual([0, 1]);
});

test('takes a base URL in upper case or with a slash as the same service', async () => {
  const shared = sharedStore();
  const service = await serve();
  const port = new URL(service.baseUrl).port;
  await charged(service.client({ journal: shared.journal() }));
  for (const baseUrl of [
    `${service.baseUrl}/`,
    `HTTP://127.0.0.1:${port}/api/v1`,
    `http://127.0.0.1:${port}/api/v1//`,
  ])
    expect(await charged(service.client({ journal: shared.journal(), baseUrl }))).toMatchObject({
      replayed: true,
    });
});

describe('an apiKey function', () => {
  test('is called once for the claim and the first attempt', async () => {
    const shared = sharedStore();
    const service = await serve();
    let calls = 0;
    const apiKey = () => [TEST_KEY, LIVE_KEY][calls++] ?? LIVE_KEY;
    await charged(service.client({ journal: shared.journal(), apiKey }));
    expect(calls).toBe(1);
    expect(service.requests).toMatchObject([{ headers: { authorization: `Bearer ${TEST_KEY}` } }]);
  });

  test('is called again after the wait for another call, and must keep its mode', async () => {
    const shared = sharedStore();
    const arrived = Promise.withResolvers<void>();
    const waits = Promise.withResolvers<void>();
    const service = await startService(async (response) => {
      arrived.resolve();
      await waits.promise;
      sendJson(response, 422, {});
    });
    const first = catchError(charged(service.client({ journal: shared.journal(), apiKey: TEST_KEY })));
    await arrived.promise;
    const keys = [TEST_KEY, LIVE_KEY];
    const second = service.client({
      journal: shared.journal(),
      apiKey: () => keys.shift() ?? LIVE_KEY,
      onEvent: () => waits.resolve(),
    });
    const failure = await catchError(charged(second));
    expect(failure).toBeInstanceOf(ConfigurationError);
    expect(failure).toMatchObject({ outcome: 'not_sent', operation: 'chargeMobileMoney' });
    expect(String(failure)).toContain('another mode');
    expect(Object(failure).message.length).toBeLessThanOrEqual(200);
    expect(await first).toMatchObject({ outcome: 'rejected' });
    expect(service.requests).toHaveLength(1);
    expect(shared.states(KEY)).toEqual(['begun', 'rejected', 'begun', 'not_sent']);
  });

  test('sends no retry if its key changes mode', async () => {
    const shared = sharedStore();
    const service = await startService(429);
    const keys = [TEST_KEY];
    const client = service.client({
      journal: shared.journal(),
      apiKey: () => keys.shift() ?? LIVE_KEY,
      maxRetries: 3,
    });
    expect(await catchError(charged(client))).toBeInstanceOf(ConfigurationError);
    expect(service.requests).toHaveLength(1);
    expect(shared.states(KEY)).toEqual(['begun', 'not_sent']);
  });

  test('records nothing if it fails before the claim', async () => {
    const shared = sharedStore();
    const service = await serve();
    const apiKey = () => Promise.reject(new Error('no vault'));
    const failure = await catchError(charged(service.client({ journal: shared.journal(), apiKey })));
    expect(failure).toMatchObject({ code: 'configuration_error', outcome: 'not_sent', retryable: true });
    expect([...shared.writes, ...service.requests]).toEqual([]);
  });

  test.each(['abort', 'close'])('is ended by %s if it hangs before the claim', async (by) => {
    const shared = sharedStore();
    const service = await serve();
    const reached = Promise.withResolvers<void>();
    const apiKey = () => {
      reached.resolve();
      return new Promise<string>(() => {});
    };
    const abort = new AbortController();
    const client = service.client({ journal: shared.journal(), apiKey });
    const call = catchError(charged(client, { signal: abort.signal }));
    await reached.promise;
    if (by === 'abort') abort.abort();
    else client.close();
    if (by === 'abort') expect(await call).toBe(abort.signal.reason);
    else expect(await call).toMatchObject({ code: 'closed', outcome: 'not_sent' });
    expect([...shared.writes, ...service.requests]).toEqual([]);
  });
});
