import { Dispatcher, getGlobalDispatcher, RetryAgent, setGlobalDispatcher } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { ConnectionError } from '../../../src/index.ts';
import { expectNotSent } from '../../helpers/not-sent.ts';
import { createClientFor } from '../../helpers/raw-service.ts';
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
  'ECONNREFUSED ENOTFOUND EAI_AGAIN EAI_FAIL EAI_NODATA EAI_NONAME UND_ERR_CONNECT_TIMEOUT',
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
