import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createFollowUps } from '../../../src/follow-ups/index.ts';
import {
  ConfigurationError,
  type Fetch,
  PaymentsClient,
  type PaymentsClientOptions,
} from '../../../src/index.ts';
import { undiciTransport } from '../../../src/node/index.ts';
import { memoryJournal } from '../../../src/stores/index.ts';
import {
  catchError,
  charge,
  payment,
  type Respond,
  type Service,
  sendJson,
  startService,
  successBodies,
} from '../../helpers/service.ts';

const TEST_KEY = 'sk_test_4vK9qLm2Xw7RtZ';
const LIVE_KEY = 'sk_live_8hN3sDf6Ty1QpB';
const REFERENCE = 'TXN-8f2c61d0';

/** Hosts that are not this machine by their name. 0.0.0.0 reaches this machine all the same. */
const otherHosts = ['sandbox', '0.0.0.0', '192.168.0.1', '[::ffff:127.0.0.1]', 'localhost.evil.example'];

beforeEach(() => {
  vi.stubEnv('PAYMENTS_API_KEY', undefined);
  vi.stubEnv('PAYMENTS_BASE_URL', undefined);
});

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const respond: Respond = (response, { method, path }) => {
  if (method === 'GET') return sendJson(response, 200, successBodies.verify({ status: 'pending' }));
  const operation = path.endsWith('initialize') ? 'initialize' : 'chargeMobileMoney';
  return sendJson(response, 200, successBodies[operation]());
};

/** Starts a service that clients reach under the name `sandbox`, as one container reaches another. */
async function startContainer(answer: Respond = respond) {
  const service = await startService(answer);
  const { port } = new URL(service.baseUrl);
  const fetchFromContainer: Fetch = (address, init) => {
    const url = new URL(address);
    expect(url.hostname).toBe('sandbox');
    return fetch(`http://127.0.0.1:${port}${url.pathname}`, init);
  };
  const client = (options: PaymentsClientOptions) => {
    const payments = service.client({
      baseUrl: `http://sandbox:${port}/api/v1`,
      fetch: fetchFromContainer,
      dangerouslyAllowHttp: true,
      polling: { initialDelay: 0, minDelay: 1, maxDelay: 5 },
      ...options,
    });
    onTestFinished(() => payments.close());
    return payments;
  };
  return { service, client };
}

const keysOf = ({ requests }: Service) => requests.map(({ headers }) => headers.authorization);

function expectRefusal(error: unknown, outcome: 'not_sent' | null): void {
  expect(error).toBeInstanceOf(ConfigurationError);
  expect(error).toMatchObject({ outcome, retryable: false });
  expect(String(error)).toMatch(/no test key.+http.+Nothing was sent/);
  const shown = inspect(error, { depth: 12, showHidden: true }) + JSON.stringify(error);
  expect(shown).not.toContain(LIVE_KEY.slice(8));
}

const make = (options: object) => () => new PaymentsClient(options);

describe('without dangerouslyAllowHttp', () => {
  test.each([false, undefined, null, 'true', 1, {}])('refuses http to others with %j', (value) => {
    const options = { apiKey: TEST_KEY, baseUrl: 'http://sandbox/api/v1', dangerouslyAllowHttp: value };
    expect(make(options)).toThrow(ConfigurationError);
    expect(make(options)).toThrow(/begin with https:\/\//);
  });
});

describe('with dangerouslyAllowHttp', () => {
  test('reaches another host with a test key through its fetch', async () => {
    const { service, client } = await startContainer();
    for (const apiKey of [TEST_KEY, () => TEST_KEY]) await client({ apiKey }).initialize(payment);
    expect(keysOf(service)).toEqual([`Bearer ${TEST_KEY}`, `Bearer ${TEST_KEY}`]);
  });

  test.each([
    ['fetch', () => ({})],
    ['undiciTransport', () => ({ transport: undiciTransport() })],
  ])('sends to an address that is not loopback through %s', async (_name, options) => {
    const service = await startService(respond);
    const baseUrl = service.baseUrl.replace('127.0.0.1', '0.0.0.0');
    const payments = new PaymentsClient({
      apiKey: TEST_KEY,
      baseUrl,
      dangerouslyAllowHttp: true,
      ...options(),
    });
    expect(payments.mode).toBe('test');
    expect(await payments.verify(REFERENCE)).toMatchObject({ status: 'pending' });
    expect(keysOf(service)).toEqual([`Bearer ${TEST_KEY}`]);
  });

  test.each(otherHosts)('refuses any other key for %s at construction', (host) => {
    const baseUrl = `http://${host}:4010/api/v1`;
    for (const apiKey of [LIVE_KEY, 'sk_test_', 'SK_TEST_4vK9', 'my-sk_test_4vK9', 'a-key-4vK9']) {
      const options = { apiKey, baseUrl, dangerouslyAllowHttp: true };
      expect(make(options)).toThrow(ConfigurationError);
      expect(make(options)).toThrow(/no test key \(sk_test_…\).+http/);
      expect(make(options)).not.toThrow(/4vK9|8hN3/);
    }
    expect(make({ apiKey: TEST_KEY, baseUrl, dangerouslyAllowHttp: true })).not.toThrow();
  });

  test('refuses key and address of the environment', () => {
    vi.stubEnv('PAYMENTS_BASE_URL', 'http://sandbox:4010/api/v1');
    vi.stubEnv('PAYMENTS_API_KEY', LIVE_KEY);
    expect(make({})).toThrow(/dangerouslyAllowHttp/);
    expect(make({ dangerouslyAllowHttp: true })).toThrow(/no test key/);
    vi.stubEnv('PAYMENTS_API_KEY', TEST_KEY);
    expect(make({ dangerouslyAllowHttp: true })).not.toThrow();
  });

  test('sends a live key to this machine', async () => {
    const service = await startService(respond);
    for (const apiKey of [LIVE_KEY, () => LIVE_KEY]) {
      await service.client({ apiKey, dangerouslyAllowHttp: true }).initialize(payment);
    }
    expect(keysOf(service)).toEqual([`Bearer ${LIVE_KEY}`, `Bearer ${LIVE_KEY}`]);
  });

  test('does not carry the key to another host after a redirect', async () => {
    const target = await startService(respond);
    const { service, client } = await startContainer((response) => {
      response.writeHead(307, { location: `${target.baseUrl}/transactions/verify/${REFERENCE}` }).end();
    });
    await catchError(client({ apiKey: TEST_KEY }).verify(REFERENCE));
    await catchError(client({ apiKey: TEST_KEY }).initialize(payment));
    expect(service.requests).toHaveLength(2);
    expect(target.requests).toEqual([]);
  });
});

describe('an apiKey function with another key', () => {
  test('is refused by each POST, which sends and records nothing', async () => {
    const { service, client } = await startContainer();
    const journal = memoryJournal();
    const plain = client({ apiKey: () => LIVE_KEY });
    const keyed = client({ apiKey: async () => LIVE_KEY, journal });
    const calls = [
      plain.initialize(payment),
      plain.chargeMobileMoney(charge),
      keyed.initialize(payment, { idempotencyKey: 'order-17' }),
      keyed.chargeMobileMoney(charge, { idempotencyKey: 'order-17/1' }),
      keyed.chargeMobileMoney(charge, { idempotencyKey: null }),
    ];
    for (const error of await Promise.all(calls.map(catchError))) expectRefusal(error, 'not_sent');
    expect(await journal.read('order-17/1')).toBeFalsy();
    expect(service.requests).toEqual([]);
  });

  test('is refused by each read, which sends nothing', async () => {
    const { service, client } = await startContainer();
    const payments = client({ apiKey: () => LIVE_KEY });
    const reads = [
      payments.verify(REFERENCE),
      payments.check(REFERENCE),
      payments.waitForFinalStatus(REFERENCE),
      payments.watch(REFERENCE).next(),
    ];
    for (const error of await Promise.all(reads.map(catchError))) expectRefusal(error, null);
    let reconciled = 0;
    for await (const { error } of payments.reconcile([REFERENCE])) {
      expectRefusal(error, null);
      reconciled++;
    }
    expect(reconciled).toBe(1);
    expect(service.requests).toEqual([]);
  });

  test('is refused by resolve and by follow-ups, which change nothing', async () => {
    const { service, client } = await startContainer((response, request, count) =>
      count === 1 ? response.destroy() : respond(response, request, count),
    );
    const keys = [TEST_KEY, TEST_KEY];
    const journal = memoryJournal();
    const payments = client({ apiKey: () => keys.shift() ?? LIVE_KEY, journal });
    await payments.initialize(payment, { idempotencyKey: 'lost' }).catch(() => {});
    await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-17/1' }).catch(() => {});
    const sent = service.requests.length;
    expect((await journal.read('lost'))?.state).toBe('unknown');

    const note = { by: 'kofi@shop.example', reason: 'found' };
    expectRefusal(await catchError(payments.resolve('lost', { reference: REFERENCE }, note)), null);
    expectRefusal(await catchError(payments.resolve('lost', 'not_charged', note)), null);
    const handled: string[] = [];
    const onAttention = ({ key }: { key: string }) => handled.push(key);
    const followUps = createFollowUps({ payments, journal, onFinal: onAttention, onAttention });
    expectRefusal(await catchError(followUps.sweep()), null);
    expect(handled).toEqual([]);
    expect((await journal.read('lost'))?.state).toBe('unknown');
    expect(service.requests).toHaveLength(sent);
  });

  test('ends a wait that began with a test key', async () => {
    const { service, client } = await startContainer();
    const keys = [TEST_KEY, TEST_KEY];
    const payments = client({ apiKey: () => keys.shift() ?? LIVE_KEY });
    expectRefusal(await catchError(payments.waitForFinalStatus(REFERENCE)), null);
    expect(keysOf(service)).toEqual([`Bearer ${TEST_KEY}`, `Bearer ${TEST_KEY}`]);
  });

  test.each([undefined, memoryJournal()])('ends the retries of a charge (%#)', async (journal) => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const { service, client } = await startContainer((response) => sendJson(response, 429, {}));
    // With a journal, the key is asked for before the claim, and the first attempt uses it.
    const keys = [TEST_KEY];
    const payments = client({ apiKey: () => keys.shift() ?? LIVE_KEY, journal, maxRetries: 3 });
    const idempotencyKey = journal ? 'order-18/1' : null;
    expectRefusal(await catchError(payments.chargeMobileMoney(charge, { idempotencyKey })), 'not_sent');
    expect(keysOf(service)).toEqual([`Bearer ${TEST_KEY}`]);
  });
});
