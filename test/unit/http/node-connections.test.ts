import type { Socket } from 'node:net';
import {
  Dispatcher,
  EnvHttpProxyAgent,
  getGlobalDispatcher,
  ProxyAgent,
  RetryAgent,
  setGlobalDispatcher,
} from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import { undiciTransport } from '../../../src/node/index.ts';
import { expectNotSent, expectUnknownOutcome } from '../../helpers/expected-outcomes.ts';
import { createClientFor, startRawService } from '../../helpers/raw-service.ts';
import { catchError, charge } from '../../helpers/service.ts';

const errorWith = (facts: object, error: Error = new Error('failed')) => Object.assign(error, facts);
const createClient = createClientFor('https://payments.example/api/v1');

/** Makes Node's own fetch send over this dispatcher until the test ends. */
function dispatchBy(dispatcher: Dispatcher) {
  const before = getGlobalDispatcher();
  setGlobalDispatcher(dispatcher);
  onTestFinished(() => setGlobalDispatcher(before));
}

/** Makes the connections of Node's own fetch fail with this, as those of its own dispatcher do. */
function connectionsFailWith(error: Error) {
  class Agent extends Dispatcher {
    override dispatch(_: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
      handler.onResponseError?.(Object(null), error);
      return true;
    }
  }
  dispatchBy(new Agent());
}

test('proves that nothing was sent to a port that fetch refuses', async () => {
  const failure = await catchError(createClientFor('http://127.0.0.1:9/api/v1')().chargeMobileMoney(charge));
  const cause = { cause: { message: 'bad port' } };
  expect(failure).toMatchObject({ name: 'ConnectionError', outcome: 'not_sent', cause });
});

test.each([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EAI_NODATA',
  'EAI_NONAME',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_PRX_TLS',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REVOKED',
  'CERT_UNTRUSTED',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'HOSTNAME_MISMATCH',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
])('proves that nothing was sent by the code %s of Node', async (code) => {
  connectionsFailWith(errorWith({ code }));
  await expectNotSent(createClient(), code);
});

test('proves that nothing was sent by a reset while connecting', async () => {
  connectionsFailWith(errorWith({ code: 'ECONNRESET', syscall: 'connect' }));
  await expectNotSent(createClient(), 'ECONNRESET');
});

const refused = errorWith({ code: 'ECONNREFUSED', syscall: 'connect' });
const reset = errorWith({ code: 'ECONNRESET', syscall: 'read' });

test.each<[string, Error]>([
  ['an empty AggregateError', errorWith({ code: 'ECONNREFUSED' }, new AggregateError([]))],
  ['an empty AggregateError of connecting', errorWith({ syscall: 'connect' }, new AggregateError([]))],
  [
    'two errors of which one proves nothing',
    errorWith({ code: 'ECONNREFUSED' }, new AggregateError([refused, reset])),
  ],
  [
    'another message of a tunnel',
    errorWith(
      { code: 'UND_ERR_ABORTED' },
      new Error('Proxy response (403) !== 200 when HTTP Tunneling, later'),
    ),
  ],
  [
    'another code of a tunnel',
    errorWith({ code: 'UND_ERR_SOCKET' }, new Error('Proxy response (403) !== 200 when HTTP Tunneling')),
  ],
])('proves nothing by connections of Node that fail with %s', async (_what, error) => {
  connectionsFailWith(error);
  await expectUnknownOutcome(createClient(), 'ConnectionError');
});

test.each<[string, unknown]>([
  ['an error without a code', new TypeError('fetch failed')],
  ['nothing', undefined],
  ['text', 'ECONNREFUSED'],
  ['an object that cannot be made text', Object.create(null)],
  ['an error of the TLS family', errorWith({ code: 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA' })],
  ['the empty error of Promise.any', new AggregateError([])],
])('proves nothing by a fetch that rejects with %s', async (_what, thrown) => {
  await expectUnknownOutcome(createClient({ fetch: () => Promise.reject(thrown) }), 'ConnectionError');
});

test('trusts no RetryAgent, which sends more than once', async () => {
  connectionsFailWith(errorWith({ code: 'ECONNREFUSED' }));
  dispatchBy(new RetryAgent(getGlobalDispatcher(), { maxRetries: 0 }));
  const failure = await catchError(createClient().chargeMobileMoney(charge));
  expect(failure).toMatchObject({ name: 'OutcomeUnknownError', outcome: 'unknown', retryable: false });
});

const answer = (status: number) => (socket: Socket) =>
  void socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
const refusals: [string, (socket: Socket) => void][] = [
  ['a 403', answer(403)],
  ['a 407', answer(407)],
  ['a 503', answer(503)],
  ['a close', (socket) => void socket.end()],
];

describe.each<[string, (proxy: string) => Dispatcher]>([
  ['ProxyAgent', (proxy) => new ProxyAgent(proxy)],
  ['EnvHttpProxyAgent', (httpsProxy) => new EnvHttpProxyAgent({ httpsProxy, noProxy: '' })],
])('behind a proxy, by %s', (_, createAgent) => {
  test.each(refusals)("proves by %s that nothing was sent, over Node's own alone", async (_, refuse) => {
    const { baseUrl, requests } = await startRawService(refuse);
    const dispatcher = createAgent(new URL(baseUrl).origin);
    onTestFinished(() => dispatcher.destroy());
    const own = createClient({ transport: undiciTransport({ dispatcher }) });
    expect(await catchError(own.chargeMobileMoney(charge))).toMatchObject({ outcome: 'unknown' });
    dispatchBy(dispatcher);
    const failure = await catchError(createClient().chargeMobileMoney(charge));
    expect(failure).toMatchObject({ name: 'ConnectionError', outcome: 'not_sent', retryable: true });
    expect(requests.at(-1)).toMatch(/^CONNECT payments\.example:443 /);
  });
});
