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
import { ConnectionError } from '../../../src/index.ts';
import { undiciTransport } from '../../../src/node/index.ts';
import { expectNotSent } from '../../helpers/not-sent.ts';
import { createClientFor, startRawService } from '../../helpers/raw-service.ts';
import { catchError, charge } from '../../helpers/service.ts';
import { expectUnknownOutcome } from '../../helpers/unknown-outcome.ts';

const coded = (code: string) => Object.assign(new Error('failed'), { code });
const createClient = createClientFor('https://payments.example/api/v1');

test('proves that nothing was sent to a port that fetch refuses', async () => {
  const client = createClientFor('http://127.0.0.1:9/api/v1')();
  const failure = await catchError(client.chargeMobileMoney(charge));
  expect(failure).toBeInstanceOf(ConnectionError);
  expect(failure).toMatchObject({ outcome: 'not_sent', cause: { cause: { message: 'bad port' } } });
});

const proof = [
  'ECONNREFUSED ENOTFOUND EAI_AGAIN EAI_FAIL EAI_NODATA EAI_NONAME UND_ERR_CONNECT_TIMEOUT UND_ERR_PRX_TLS',
  'CERT_HAS_EXPIRED CERT_NOT_YET_VALID CERT_REVOKED CERT_UNTRUSTED SELF_SIGNED_CERT_IN_CHAIN HOSTNAME_MISMATCH',
  'DEPTH_ZERO_SELF_SIGNED_CERT UNABLE_TO_VERIFY_LEAF_SIGNATURE UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
].flatMap((codes) => codes.split(' '));

/** Makes the connections of Node's own fetch fail with this, as those of its own dispatcher do. */
function connectionsFailWith(error: Error) {
  const before = getGlobalDispatcher();
  class Agent extends Dispatcher {
    override dispatch(_: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
      handler.onResponseError?.(Object(null), error);
      return true;
    }
  }
  setGlobalDispatcher(new Agent());
  onTestFinished(() => setGlobalDispatcher(before));
}

test.each(proof)('proves that nothing was sent by the code %s of Node', async (code) => {
  connectionsFailWith(coded(code));
  await expectNotSent(createClient(), code);
});

test('proves that nothing was sent by a reset while connecting', async () => {
  connectionsFailWith(Object.assign(coded('ECONNRESET'), { syscall: 'connect' }));
  await expectNotSent(createClient(), 'ECONNRESET');
});

test.each<[string, Error]>([
  ['an empty AggregateError', Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })],
  ['an empty AggregateError of connecting', Object.assign(new AggregateError([]), { syscall: 'connect' })],
  [
    'two errors of which one proves nothing',
    Object.assign(
      new AggregateError([
        Object.assign(new Error('refused'), { code: 'ECONNREFUSED', syscall: 'connect' }),
        Object.assign(new Error('reset'), { code: 'ECONNRESET', syscall: 'read' }),
      ]),
      { code: 'ECONNREFUSED' },
    ),
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
  ['an error with a code of another kind', coded('UND_ERR_SOCKET')],
  ['an error of the TLS family', coded('ERR_SSL_TLSV1_ALERT_UNKNOWN_CA')],
])('proves nothing by a fetch that rejects with %s', async (_what, thrown) => {
  const fetch = () => Promise.reject(thrown);
  await expectUnknownOutcome(createClient({ fetch }), 'ConnectionError');
});

test('does not report not_sent if a body breaks off with a connection error', async () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED'), {
    code: 'ECONNREFUSED',
    syscall: 'connect',
  });
  const fetch = async () => new Response(new ReadableStream({ pull: (body) => body.error(refused) }));
  await expectUnknownOutcome(createClient({ fetch }), 'ConnectionError');
});

test('reports unknown for the empty Promise.any of a fetch', async () => {
  const client = createClientFor('https://127.0.0.1')({ fetch: () => Promise.any([]) });
  await expectUnknownOutcome(client, 'ConnectionError');
});

test('trusts no RetryAgent, which sends more than once', async () => {
  connectionsFailWith(coded('ECONNREFUSED'));
  setGlobalDispatcher(new RetryAgent(getGlobalDispatcher(), { maxRetries: 0 }));
  const client = createClient();
  expect(await catchError(client.chargeMobileMoney(charge))).toMatchObject({
    name: 'OutcomeUnknownError',
    outcome: 'unknown',
    retryable: false,
  });
});

const answer = (status: number) => (socket: Socket) =>
  void socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
const refusals: [string, (socket: Socket) => void][] = [
  ['a 403', answer(403)],
  ['a 407', answer(407)],
  ['a 503', answer(503)],
  ['a close', (socket) => void socket.end()],
];
const proxyAgents: [string, (proxy: string) => Dispatcher][] = [
  ['ProxyAgent', (proxy) => new ProxyAgent(proxy)],
  ['EnvHttpProxyAgent', (httpsProxy) => new EnvHttpProxyAgent({ httpsProxy, noProxy: '' })],
];

describe.each(proxyAgents)('behind a proxy, by %s', (_, createAgent) => {
  async function startProxy(refuse: (socket: Socket) => void) {
    const { baseUrl, requests } = await startRawService(refuse);
    const dispatcher = createAgent(new URL(baseUrl).origin);
    onTestFinished(() => dispatcher.destroy());
    return { dispatcher, requests };
  }

  test.each(refusals)('proves that nothing was sent by %s in place of a tunnel', async (_, refuse) => {
    const { dispatcher, requests } = await startProxy(refuse);
    const before = getGlobalDispatcher();
    setGlobalDispatcher(dispatcher);
    onTestFinished(() => setGlobalDispatcher(before));
    const failure = await catchError(createClient().chargeMobileMoney(charge));
    expect(failure).toMatchObject({ name: 'ConnectionError', outcome: 'not_sent', retryable: true });
    expect(requests).toEqual([expect.stringMatching(/^CONNECT payments\.example:443 /)]);
  });

  test.each(refusals)("proves nothing by %s if the dispatcher is the merchant's", async (_, refuse) => {
    const { dispatcher } = await startProxy(refuse);
    const client = createClient({ transport: undiciTransport({ dispatcher }) });
    expect(await catchError(client.chargeMobileMoney(charge))).toMatchObject({ outcome: 'unknown' });
  });
});

test.each([
  ['UND_ERR_ABORTED', 'Proxy response (403) !== 200 when HTTP Tunneling, later'],
  ['UND_ERR_SOCKET', 'Proxy response (403) !== 200 when HTTP Tunneling'],
])('proves nothing by %s with the message %j', async (code, message) => {
  connectionsFailWith(Object.assign(new Error(message), { code }));
  await expectUnknownOutcome(createClient(), 'ConnectionError');
});
