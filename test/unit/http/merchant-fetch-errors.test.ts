import { Agent, getGlobalDispatcher, setGlobalDispatcher, fetch as undiciFetch } from 'undici';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { PaymentsClientOptions, Transport } from '../../../src/index.ts';
import { memoryJournal } from '../../../src/journal/index.ts';
import { undiciTransport } from '../../../src/node/index.ts';
import { failLookups } from '../../helpers/fail-lookups.ts';
import { CLOSED_PORT, createClientFor } from '../../helpers/raw-service.ts';
import { catchError, charge, startService } from '../../helpers/service.ts';

/** Requests of the merchant's own code that are refused after the service has charged. */

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
      await exchange(request, { onHeaders() {}, onData: () => true });
      await exchange({ ...request, url: `http://127.0.0.1:${CLOSED_PORT}/audit` }, sink);
    },
  };
};

const auditingDispatcher = () =>
  new Agent().compose((dispatch) => (options, handler) => {
    dispatch(options, {
      onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
      onResponseStart: () => {},
      onResponseData: () => {},
      onResponseError: (controller, error) => handler.onResponseError?.(controller, error),
      onResponseEnd: (controller) => {
        audit().catch((error) => handler.onResponseError?.(controller, error.cause));
      },
    });
    return true;
  });

const wrappers: [string, () => PaymentsClientOptions][] = [
  ['a fetch', () => ({ fetch: auditingFetch })],
  [
    'a fetch whose errors are those of the connection',
    () => ({ fetch: (...request) => auditingFetch(...request).catch(({ cause }) => Promise.reject(cause)) }),
  ],
  [
    'a fetch that goes on to a port that fetch refuses',
    () => ({
      fetch: async (...request) => {
        await fetch(...request);
        return fetch('http://127.0.0.1:9/');
      },
    }),
  ],
  [
    'a fetch that goes on to a name that does not exist',
    () => ({
      fetch: async (...request) => {
        await fetch(...request);
        failLookups('ENOTFOUND');
        return fetch('http://nonexistent.example/');
      },
    }),
  ],
  ['a transport', () => ({ transport: auditingTransport() })],
  [
    'a copy of undiciTransport with an exchange around its own',
    () => {
      const own = undiciTransport();
      return { transport: { ...own, send: auditingTransport().send } };
    },
  ],
  [
    'a Proxy around undiciTransport',
    () => {
      const own = undiciTransport();
      const exchange = new Proxy(own.send, {
        apply: (_, __, [request, sink]) => auditingTransport().send(request, sink),
      });
      return { transport: { ...own, send: exchange } };
    },
  ],
  ['a dispatcher', () => ({ transport: undiciTransport({ dispatcher: auditingDispatcher() }) })],
  [
    'a global fetch that was replaced',
    () => {
      const own = globalThis.fetch;
      vi.stubGlobal('fetch', async (...request: Parameters<typeof fetch>) => {
        await own(...request);
        return own(`http://127.0.0.1:${CLOSED_PORT}/audit`);
      });
      onTestFinished(() => void vi.unstubAllGlobals());
      return {};
    },
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
  const options = wrapped();
  const client = createClientFor(service.baseUrl)({ ...options, maxRetries: 3 });
  const failure = await catchError(client.chargeMobileMoney(charge));
  expect(failure).toMatchObject({ name: 'OutcomeUnknownError', outcome: 'unknown', retryable: false });
  expect(service.requests).toHaveLength(1);
});

test('keeps the key of a charge after which a fetch is refused elsewhere', async () => {
  const service = await startService();
  const journal = memoryJournal();
  const client = createClientFor(service.baseUrl)({ fetch: auditingFetch, journal, maxRetries: 3 });
  for (let call = 0; call < 2; call++) {
    const failure = await catchError(client.chargeMobileMoney(charge, { idempotencyKey: 'order-17' }));
    expect(failure).toMatchObject({ name: 'OutcomeUnknownError', outcome: 'unknown' });
  }
  expect(await journal.read('order-17')).toMatchObject({ state: 'unknown' });
  expect(service.requests).toHaveLength(1);
});

const plain: [string, () => PaymentsClientOptions][] = [
  ['a fetch', () => ({ fetch: (...request) => fetch(...request) })],
  [
    'a global fetch that was replaced',
    () => {
      const own = globalThis.fetch;
      vi.stubGlobal('fetch', (...request: Parameters<typeof fetch>) => own(...request));
      onTestFinished(() => void vi.unstubAllGlobals());
      return {};
    },
  ],
  ['a transport', () => ({ transport: { send: (...request) => undiciTransport().send(...request) } })],
  ['a dispatcher', () => ({ transport: undiciTransport({ dispatcher: new Agent() }) })],
];

test.each(plain)(
  "reports not_sent if %s is refused by the base URL's own host and port",
  async (_, wrapped) => {
    const port = CLOSED_PORT;
    const options = wrapped();
    for (const host of ['127.0.0.1', 'localhost']) {
      const client = createClientFor(`http://${host}:${port}/api/v1`)(options);
      const failure = await catchError(client.chargeMobileMoney(charge));
      expect(failure).toMatchObject({ name: 'ConnectionError', outcome: 'not_sent', retryable: true });
    }
  },
);

const about = (facts: object) => Object.assign(new Error('failed'), facts);
const refused = { code: 'ECONNREFUSED', syscall: 'connect' };

test.each<[string, string, object, 'not_sent' | 'unknown']>([
  ['the port of https', 'https://pay.example', { ...refused, host: 'pay.example', port: 443 }, 'not_sent'],
  [
    'a name in other letters',
    'https://pay.example',
    { ...refused, hostname: 'PAY.example', port: '443' },
    'not_sent',
  ],
  ['an IPv6 address', 'https://[::1]:8443', { ...refused, address: '::1', port: 8443 }, 'not_sent'],
  [
    'a name not found, with its port',
    'https://pay.example',
    { code: 'ENOTFOUND', hostname: 'pay.example', port: 443 },
    'not_sent',
  ],
  [
    'a name not found, without a port',
    'https://pay.example',
    { code: 'ENOTFOUND', hostname: 'pay.example' },
    'unknown',
  ],
  ['no host', 'https://pay.example', { ...refused, port: 443 }, 'unknown'],
  ['another port', 'https://pay.example', { ...refused, host: 'pay.example', port: 444 }, 'unknown'],
  ['another host', 'https://pay.example', { ...refused, host: 'api.pay.example', port: 443 }, 'unknown'],
  [
    'the right host and another',
    'https://pay.example',
    { ...refused, hostname: 'pay.example', host: 'proxy.example', port: 443 },
    'unknown',
  ],
  [
    'an address that the name might resolve to',
    'https://pay.example',
    { ...refused, address: '203.0.113.7', port: 443 },
    'unknown',
  ],
  [
    'the right name and another address',
    'https://127.0.0.1',
    { ...refused, host: '127.0.0.1', address: '127.0.0.2', port: 443 },
    'unknown',
  ],
  [
    'a certificate, without a port',
    'https://pay.example',
    { code: 'ERR_TLS_CERT_ALTNAME_INVALID', host: 'pay.example' },
    'unknown',
  ],
  [
    'a reset that proves nothing',
    'https://pay.example',
    { code: 'ECONNRESET', syscall: 'read', host: 'pay.example', port: 443 },
    'unknown',
  ],
])('judges an error of a fetch that names %s', async (_, baseUrl, facts, outcome) => {
  const thrown = [
    about(facts),
    new TypeError('fetch failed', { cause: about(facts) }),
    new AggregateError([about(facts)]),
  ];
  for (const error of thrown) {
    const client = createClientFor(baseUrl)({ fetch: () => Promise.reject(error) });
    expect(await catchError(client.chargeMobileMoney(charge))).toMatchObject({ outcome });
  }
});

test("reports unknown if one of several addresses is not the base URL's own", async () => {
  const errors = ['127.0.0.1', '127.0.0.2'].map((address) => about({ ...refused, address, port: 443 }));
  const fetch = () => Promise.reject(new AggregateError(errors));
  const failure = await catchError(createClientFor('https://127.0.0.1')({ fetch }).chargeMobileMoney(charge));
  expect(failure).toMatchObject({ outcome: 'unknown' });
});

test('reports unknown if a connection is refused after a response started', async () => {
  const error = about({ ...refused, host: 'pay.example', port: 443 });
  const fetch = async () => new Response(new ReadableStream({ pull: () => Promise.reject(error) }));
  const journal = memoryJournal();
  const client = createClientFor('https://pay.example')({ fetch, journal, maxRetries: 3 });
  const failure = await catchError(client.chargeMobileMoney(charge, { idempotencyKey: 'order-17' }));
  expect(failure).toMatchObject({ name: 'OutcomeUnknownError', outcome: 'unknown', retryable: false });
  expect(await journal.read('order-17')).toMatchObject({ state: 'unknown' });
});
