import { describe, expect, test, vi } from 'vitest';
import { ConfigurationError } from '../../../src/index.ts';
import { type Claim, getJournalCore, type JournalCore } from '../../../src/journal/core.ts';
import { createJournal, type JournalStore } from '../../../src/journal/index.ts';
import { changed, kinds, sharedStore } from '../../helpers/journals.ts';
import { charged, KEY, keyed, posts } from '../../helpers/keyed-calls.ts';
import { catchError, sendJson, startService, successBodies } from '../../helpers/service.ts';

const TEST_KEY = 'sk_test_4vK9qLm2Xw7RtZ';
const LIVE_KEY = 'sk_live_4vK9qLm2Xw7RtZ';

const serve = () =>
  startService((response, { path }, count) => {
    const operation = path.endsWith('initialize') ? 'initialize' : 'chargeMobileMoney';
    sendJson(response, 200, successBodies[operation]({ reference: `TXN-${count}` }));
  });

describe.each(kinds)('a journal in %s', (_kind, handles) => {
  test.each(posts)('refuses %s of a client for another service', async (operation) => {
    const handle = handles();
    const [service, other] = [await serve(), await serve()];
    await charged(service.client({ journal: handle() }));
    for (const idempotencyKey of [KEY, 'order-18']) {
      const client = other.client({ journal: handle() });
      const failure = await catchError(keyed[operation](client, { idempotencyKey }));
      expect(failure).toBeInstanceOf(ConfigurationError);
      expect(failure).toMatchObject({ operation, outcome: 'not_sent', retryable: false });
      expect(String(failure)).toContain('belongs to another base URL or mode');
      expect(Object(failure).message.length).toBeLessThanOrEqual(200);
    }
    expect(other.requests).toEqual([]);
    expect(await handle().read('order-18')).toBeNull();
    await charged(service.client({ journal: handle() }), { idempotencyKey: 'order-18' });
    expect(service.requests).toHaveLength(2);
  });

  test.each([
    [TEST_KEY, LIVE_KEY, 'belongs to test keys'],
    [LIVE_KEY, TEST_KEY, 'belongs to keys other than sk_test_…'],
  ])('that was used with the key %s refuses %s, and sends nothing', async (first, second, says) => {
    const handle = handles();
    const service = await serve();
    await charged(service.client({ journal: handle(), apiKey: first }));
    for (const apiKey of [second, () => second]) {
      const failure = await catchError(charged(service.client({ journal: handle(), apiKey })));
      expect(failure).toBeInstanceOf(ConfigurationError);
      expect(String(failure)).toContain(says);
      expect(Object(failure).message.length).toBeLessThanOrEqual(200);
    }
    expect(service.requests).toHaveLength(1);
    // Another key of the same mode is a rotation.
    for (const apiKey of [`${first}2`, () => `${first}3`])
      expect(await charged(service.client({ journal: handle(), apiKey }))).toMatchObject({ replayed: true });
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

test('lets one of two services charge if both find the journal new', async () => {
  const shared = sharedStore();
  const services = [await serve(), await serve()];
  let readers = 0;
  const bothHaveRead = Promise.withResolvers<void>();
  // Neither service writes before both have read that the journal has no service.
  const read: JournalStore['read'] = async (key) => {
    const found = await shared.store.read(key);
    if (++readers === 2) bothHaveRead.resolve();
    await bothHaveRead.promise;
    return found;
  };
  const calls = services.map((service, index) =>
    charged(service.client({ journal: createJournal({ ...shared.store, read }) }), {
      idempotencyKey: `order-${index}`,
    }),
  );
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

test('refuses a key if the journal was given to another service meanwhile', async () => {
  const shared = sharedStore();
  const [service, other] = [await serve(), await serve()];
  const client = service.client({ journal: shared.journal() });
  await charged(client);
  // The table was emptied, and another service uses it first.
  shared.records.clear();
  await charged(other.client({ journal: shared.journal() }));
  // A handle reads it again each second.
  const now = Date.now();
  vi.spyOn(Date, 'now').mockImplementation(() => now + 1_001);
  const failure = await catchError(charged(client, { idempotencyKey: 'order-18' }));
  expect(failure).toBeInstanceOf(ConfigurationError);
  expect(String(failure)).toContain('belongs to another base URL');
  expect(service.requests).toHaveLength(1);
});

test.each([
  ['is damaged', '{"format":1}'],
  ['is of a newer version', '{"format":2,"service":"any"}'],
  ['is not JSON', 'service'],
])('sends nothing if the record of the service %s', async (_what, text) => {
  const shared = sharedStore();
  const service = await serve();
  await charged(service.client({ journal: shared.journal() }));
  for (const [key, kept] of shared.records) if (key !== KEY) shared.records.set(key, { ...kept, text });
  const failure = await catchError(
    charged(service.client({ journal: shared.journal() }), { idempotencyKey: 'order-18' }),
  );
  expect(failure).toMatchObject({ code: 'journal_error', outcome: 'not_sent', retryable: false });
  expect(service.requests).toHaveLength(1);
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
    const service = await serve();
    const other = shared.journal();
    const keys = [TEST_KEY, LIVE_KEY];
    const held = Promise.withResolvers<Claim>();
    const claim: JournalCore['claim'] = async (key, intent) => {
      const first = await getJournalCore(other).claim(key, intent);
      const second = await getJournalCore(other).claim(key, intent);
      Object.assign(getJournalCore(journal), { claim: getJournalCore(other).claim });
      if (first.state === 'claimed') held.resolve(first.claim);
      return second;
    };
    const journal = changed(shared.journal(), { claim });
    const call = catchError(charged(service.client({ journal, apiKey: () => keys.shift() ?? LIVE_KEY })));
    expect(await getJournalCore(other).complete(await held.promise, { state: 'not_sent' })).toBe(true);
    const failure = await call;
    expect(failure).toBeInstanceOf(ConfigurationError);
    expect(failure).toMatchObject({ outcome: 'not_sent', operation: 'chargeMobileMoney' });
    expect(String(failure)).toContain('another mode');
    expect(Object(failure).message.length).toBeLessThanOrEqual(200);
    expect(service.requests).toEqual([]);
    expect(shared.states(KEY)).toEqual(['begun', 'not_sent', 'begun', 'not_sent']);
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
    expect(shared.states(KEY)).toEqual(['begun', 'begun', 'not_sent']);
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
