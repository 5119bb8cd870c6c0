import { Readable } from 'node:stream';
import { inspect } from 'node:util';
import { Agent, getGlobalDispatcher, setGlobalDispatcher, fetch as undiciFetch } from 'undici';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type PaymentsClientOptions, PaymentsError, type Transport } from '../../../src/index.ts';
import { undiciTransport } from '../../../src/node/index.ts';
import { memoryJournal } from '../../../src/stores/index.ts';
import { calls, operationNames, REFERENCE } from '../../helpers/calls.ts';
import { failLookups } from '../../helpers/fail-lookups.ts';
import { CLOSED_PORT, createClientFor } from '../../helpers/raw-service.ts';
import { API_KEY, catchError, charge, startService, successBodies } from '../../helpers/service.ts';

// Requests of the merchant's own code that are refused after the service has charged. It traces them by ids of its own, so
// this package does not see that the charge has left.
const OWN_ID = { 'x-request-id': 'trace-1' };

const auditor = new Agent();
const audit = async () => undiciFetch(`http://127.0.0.1:${CLOSED_PORT}/audit`, { dispatcher: auditor });

const auditingFetch: typeof fetch = async (...request) => {
  const response = await fetch(...request);
  await audit();
  return response;
};

const auditingTransport = (): Transport => {
  const { send: exchange } = undiciTransport();
  return {
    send: async (request, sink) => {
      await exchange(
        { ...request, headers: { ...request.headers, ...OWN_ID } },
        { onHeaders() {}, onData: () => true },
      );
      await exchange({ ...request, url: `http://127.0.0.1:${CLOSED_PORT}/audit` }, sink);
    },
  };
};

const auditingDispatcher = () =>
  new Agent().compose((dispatch) => (options, handler) => {
    dispatch(
      { ...options, headers: { ...Object(options.headers), ...OWN_ID } },
      {
        onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
        onResponseStart: () => {},
        onResponseData: () => {},
        onResponseError: (controller, error) => handler.onResponseError?.(controller, error),
        onResponseEnd: (controller) => {
          audit().catch((error) => handler.onResponseError?.(controller, error.cause));
        },
      },
    );
    return true;
  });

/** Replaces the global fetch until the test ends. */
function replaceFetch(wrap: (own: typeof fetch) => typeof fetch): PaymentsClientOptions {
  vi.stubGlobal('fetch', wrap(globalThis.fetch));
  onTestFinished(() => void vi.unstubAllGlobals());
  return {};
}

const goingOnTo =
  (url: string, own = globalThis.fetch): typeof fetch =>
  async (target, init) => {
    await own(target, { ...init, headers: { ...Object(init?.headers), ...OWN_ID } });
    if (url.includes('nonexistent')) failLookups('ENOTFOUND');
    return own(url);
  };

const wrappers: [string, () => PaymentsClientOptions][] = [
  ['a fetch', () => ({ fetch: auditingFetch })],
  [
    'a fetch whose errors are those of the connection',
    () => ({ fetch: (...request) => auditingFetch(...request).catch(({ cause }) => Promise.reject(cause)) }),
  ],
  ['a fetch that goes on to a bad port', () => ({ fetch: goingOnTo('http://127.0.0.1:9/') })],
  ['a fetch that goes on to no name', () => ({ fetch: goingOnTo('http://nonexistent.example/') })],
  ['a transport', () => ({ transport: auditingTransport() })],
  [
    'a copy of undiciTransport with an exchange around its own',
    () => ({ transport: { ...undiciTransport(), send: auditingTransport().send } }),
  ],
  [
    'a Proxy around undiciTransport',
    () => {
      const own = undiciTransport();
      const { send } = auditingTransport();
      const apply = (_: unknown, __: unknown, [request, sink]: Parameters<Transport['send']>) =>
        send(request, sink);
      return { transport: { ...own, send: new Proxy(own.send, { apply }) } };
    },
  ],
  ['a dispatcher', () => ({ transport: undiciTransport({ dispatcher: auditingDispatcher() }) })],
  [
    'a global fetch that was replaced',
    () => replaceFetch((own) => goingOnTo(`http://127.0.0.1:${CLOSED_PORT}/audit`, own)),
  ],
  [
    'a global dispatcher with an interceptor',
    () => {
      const before = getGlobalDispatcher();
      setGlobalDispatcher(auditingDispatcher());
      onTestFinished(() => setGlobalDispatcher(before));
      return {};
    },
  ],
];

test.each(wrappers)('reports unknown, and charges once, if %s is refused elsewhere', async (_, wrapped) => {
  const service = await startService();
  const journal = memoryJournal();
  const client = createClientFor(service.baseUrl)({ ...wrapped(), journal, maxRetries: 3 });
  const call = client.chargeMobileMoney(charge, { idempotencyKey: 'order-17' });
  const expected = { name: 'OutcomeUnknownError', outcome: 'unknown', retryable: false };
  expect(await catchError(call)).toMatchObject(expected);
  expect(await journal.read('order-17')).toMatchObject({ state: 'unknown' });
  expect(service.requests).toHaveLength(1);
});

const plain: [string, () => PaymentsClientOptions][] = [
  ['a fetch', () => ({ fetch: (...request) => fetch(...request) })],
  [
    'a global fetch that was replaced',
    () =>
      replaceFetch(
        (own) =>
          (...request) =>
            own(...request),
      ),
  ],
  ['a transport', () => ({ transport: { send: (...request) => undiciTransport().send(...request) } })],
  ['a dispatcher', () => ({ transport: undiciTransport({ dispatcher: new Agent() }) })],
];

test.each(plain)("reports not_sent if %s is refused by the base URL's own port", async (_, wrapped) => {
  const options = wrapped();
  for (const host of ['127.0.0.1', 'localhost']) {
    const client = createClientFor(`http://${host}:${CLOSED_PORT}/api/v1`)(options);
    const failure = await catchError(client.chargeMobileMoney(charge));
    expect(failure).toMatchObject({ name: 'ConnectionError', outcome: 'not_sent', retryable: true });
  }
});

const about = (facts: object) => Object.assign(new Error('failed'), facts);
const refused = { code: 'ECONNREFUSED', syscall: 'connect' };
const shop = 'https://pay.example';
const right = { ...refused, host: 'pay.example', port: 443 };

test.each<[what: string, baseUrl: string, outcome: 'not_sent' | 'unknown', ...errors: object[]]>([
  ['the port of https', shop, 'not_sent', right],
  ['a name in other letters', shop, 'not_sent', { ...refused, hostname: 'PAY.example', port: '443' }],
  ['an IPv6 address', 'https://[::1]:8443', 'not_sent', { ...refused, address: '::1', port: 8443 }],
  ['a name not found', shop, 'not_sent', { code: 'ENOTFOUND', hostname: 'pay.example', port: 443 }],
  ['no port', shop, 'unknown', { code: 'ENOTFOUND', hostname: 'pay.example' }],
  ['no host', shop, 'unknown', { ...refused, port: 443 }],
  ['another port', shop, 'unknown', { ...right, port: 444 }],
  ['another host', shop, 'unknown', { ...right, host: 'api.pay.example' }],
  [
    'the right host and another',
    shop,
    'unknown',
    { ...right, hostname: 'pay.example', host: 'proxy.example' },
  ],
  ['an address that it might have', shop, 'unknown', { ...refused, address: '203.0.113.7', port: 443 }],
  [
    'the right name and another address',
    'https://127.0.0.1',
    'unknown',
    { ...right, host: '127.0.0.1', address: '127.0.0.2' },
  ],
  ['a reset that proves nothing', shop, 'unknown', { ...right, code: 'ECONNRESET', syscall: 'read' }],
  [
    'one address that is not its own',
    'https://127.0.0.1',
    'unknown',
    { ...refused, address: '127.0.0.1', port: 443 },
    { ...refused, address: '127.0.0.2', port: 443 },
  ],
])('judges an error of a fetch that names %s', async (_, baseUrl, outcome, ...facts) => {
  const errors = facts.map(about);
  const all = new AggregateError(errors);
  const single = errors.length === 1 ? errors : [];
  for (const error of [...single, new TypeError('fetch failed', { cause: all }), all]) {
    const client = createClientFor(baseUrl)({ fetch: () => Promise.reject(error) });
    expect(await catchError(client.chargeMobileMoney(charge))).toMatchObject({ outcome });
  }
});

test('reports unknown if a connection is refused after a response started', async () => {
  const fetch = async () => new Response(new ReadableStream({ pull: () => Promise.reject(about(right)) }));
  const failure = await catchError(createClientFor(shop)({ fetch }).chargeMobileMoney(charge));
  expect(failure).toMatchObject({ name: 'OutcomeUnknownError', outcome: 'unknown', retryable: false });
});

const headers = new Headers();
const taken = JSON.stringify(successBodies.chargeMobileMoney());

/** The body of a Response that gives just this. */
const bodyOf = (read: () => unknown, cancel: unknown = async () => {}) => ({
  getReader: () => ({ read, cancel }),
});
const fail = () => {
  throw new TypeError(`no headers for ${API_KEY}`);
};
const chunk = (value: unknown) => async () => ({ done: false, value });

/** Values that a merchant's fetch, or a fake one, can return instead of a Response. */
const odd: [what: string, returned: unknown][] = [
  ['nothing', undefined],
  ['null', null],
  ['text', taken],
  ['an empty object', {}],
  ['no status', { headers, body: new Response(taken).body }],
  ['a status that is text', { status: '422', headers, body: null }],
  ['a status that is no number', { status: Number.NaN, headers, body: new Response(taken).body }],
  ['the error response', Response.error()],
  ['no headers, and a body only by json()', { status: 200, json: async () => JSON.parse(taken) }],
  ['headers in a plain object', { status: 200, headers: {}, body: null }],
  ['headers that throw', { status: 500, headers: { get: fail }, body: null }],
  ['headers that are numbers', { status: 503, headers: { get: () => 5 }, body: null }],
  ['a body that is text', { status: 200, headers, body: taken }],
  ["a body that is a stream of Node's", { status: 200, headers, body: Readable.from([taken]) }],
  ['pieces that are text', { status: 200, headers, body: bodyOf(chunk(taken)) }],
  ['pieces that are nothing', { status: 200, headers, body: bodyOf(async () => undefined) }],
  [
    'a body too long that cannot be cancelled',
    { status: 200, headers, body: bodyOf(chunk(new Uint8Array(2 ** 21)), undefined) },
  ],
];

const clientWith = (fetch: unknown) => createClientFor('https://payments.example')(Object({ fetch }));

test.each(odd)('claims nothing if fetch returns %s', async (_, returned) => {
  const client = clientWith(async () => returned);
  for (const operation of operationNames) {
    const failure = await catchError(calls[operation](client));
    expect(failure).toBeInstanceOf(PaymentsError);
    expect(failure).toMatchObject({ outcome: operation === 'verify' ? null : 'unknown', operation });
  }
});

test('judges by the status if the headers cannot be read', async () => {
  const client = clientWith(async () => ({ status: 422, headers: undefined, body: null }));
  const failure = await catchError(client.chargeMobileMoney(charge));
  expect(failure).toMatchObject({ name: 'InvalidRequestError', outcome: 'rejected' });
});

test('reports unknown if the runtime fails while a response is read', async () => {
  const client = clientWith(async () => ({ status: 200, headers, body: null }));
  vi.spyOn(TextDecoder.prototype, 'decode').mockImplementation(fail);
  const failure = await catchError(client.chargeMobileMoney(charge));
  const message = expect.stringMatching(/the client itself failed.* A charge might exist/);
  expect(failure).toMatchObject({ name: 'OutcomeUnknownError', outcome: 'unknown', message });
  expect(inspect(failure, { depth: 9 })).not.toContain(API_KEY);
  const onRead = await catchError(client.verify(REFERENCE));
  expect(onRead).toMatchObject({ outcome: null, retryable: true });
});

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const trap = () => {
  throw Object.assign(new Error('broken'), { name: API_KEY });
};
const trapped = (name: string) => Object.defineProperty(new Error('x'), name, { get: trap });

/** Thrown values that seem errors until one of their properties is read. */
test.each<[what: string, thrown: unknown]>([
  ['a revoked proxy', revoked()],
  ['a proxy that throws', new Proxy(new Error('x'), { getPrototypeOf: trap })],
  ['an error whose message throws', trapped('message')],
  ['an error whose code throws', trapped('code')],
  ['an error with a message of a megabyte', new Error('x'.repeat(2 ** 20))],
])('shows no key of %s that fetch or the apiKey function throws', async (_, thrown) => {
  const rethrow = () => {
    throw thrown;
  };
  const failure = await catchError(clientWith(rethrow).chargeMobileMoney(charge));
  expect(failure).toMatchObject({ name: 'OutcomeUnknownError', outcome: 'unknown' });
  const sealed = createClientFor('https://payments.example')({ apiKey: rethrow });
  const unsent = await catchError(sealed.chargeMobileMoney(charge));
  expect(unsent).toMatchObject({ code: 'configuration_error', outcome: 'not_sent' });
  const shown = inspect([failure, unsent], { depth: 9 });
  expect(shown).not.toContain(API_KEY);
  expect(shown.length).toBeLessThan(30_000);
});

test.each([400, 401, 404, 429])('reports a %d if its body cannot be written as text', async (status) => {
  const body = { errors: [{ loc: [{ toString: 1 }, 'body', 3, 'phone'], message: 'bad' }] };
  const client = clientWith(async () => Response.json(body, { status, headers: { 'retry-after': '9' } }));
  const fieldErrors = [{ field: '3.phone', message: 'bad' }];
  const failure = await catchError(client.chargeMobileMoney(charge));
  expect(failure).toMatchObject({ status, outcome: 'rejected', retryAfter: 9_000, fieldErrors });
});

const circular = new Error('round');
circular.cause = circular;

test.each([
  ['a big number', 5n],
  ['an error with a circle', circular],
])('can be written as JSON after an abort with %s', async (_, reason) => {
  const controller = new AbortController();
  const client = clientWith(() => {
    controller.abort(reason);
    return new Promise(() => {});
  });
  const failure = await catchError(client.chargeMobileMoney(charge, { signal: controller.signal }));
  expect(JSON.parse(JSON.stringify(failure))).toMatchObject({ code: 'outcome_unknown' });
});

test('reports unknown after a 407, which fetch hides, and sends once', async () => {
  const service = await startService(407, { message: 'Proxy' });
  const client = service.client({ maxRetries: 2 });
  const unknown = { name: 'OutcomeUnknownError', cause: { name: 'ConnectionError', outcome: 'unknown' } };
  expect(await catchError(client.chargeMobileMoney(charge))).toMatchObject(unknown);
  expect(service.requests).toHaveLength(1);
  const onRead = await catchError(client.verify(REFERENCE, { maxRetries: 0 }));
  expect(onRead).toMatchObject({ name: 'ConnectionError', outcome: null });
});
