import dns from 'node:dns';
import { createServer as createTcpServer } from 'node:net';
import tls from 'node:tls';
import { Dispatcher, getGlobalDispatcher, RetryAgent, setGlobalDispatcher } from 'undici';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ConnectionError, type PaymentsClient } from '../../../src/index.ts';
import { calls, posts, REFERENCE } from '../../helpers/calls.ts';
import { createCertificate } from '../../helpers/certificate.ts';
import { failLookups } from '../../helpers/fail-lookups.ts';
import { CLOSED_PORT, createClientFor, listening, startRawService } from '../../helpers/raw-service.ts';
import { catchError, charge, successBodies } from '../../helpers/service.ts';
import { expectUnknownOutcome } from '../../helpers/unknown-outcome.ts';

const coded = (code: string) => Object.assign(new Error('failed'), { code });

type AllFound = (error: null, addresses: dns.LookupAddress[]) => void;

/** Proves that no connection was made: every operation reports it, and is retryable. */
async function expectNotSent(client: PaymentsClient, code: unknown) {
  for (const operation of posts) {
    const failure = await catchError(calls[operation](client));
    expect(failure).toBeInstanceOf(ConnectionError);
    expect(failure).toMatchObject({
      name: 'ConnectionError',
      code: 'connection_error',
      operation,
      outcome: 'not_sent',
      retryable: true,
      cause: { name: 'TypeError', message: 'fetch failed', cause: { code } },
    });
    expect(String(failure)).toContain('nothing was sent');
  }
  const onVerify = await catchError(client.verify(REFERENCE));
  expect(onVerify).toBeInstanceOf(ConnectionError);
  expect(onVerify).toMatchObject({ operation: 'verify', outcome: null, retryable: true });
}

const startTls = async (options: tls.TlsOptions) => {
  const requests: string[] = [];
  const server = tls.createServer(options, (socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      requests.push(chunk.toString('latin1'));
      const body = JSON.stringify(successBodies.chargeMobileMoney());
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    });
  });
  return { client: createClientFor(`https://127.0.0.1:${await listening(server)}/api/v1`)(), requests };
};

function trust(...certificates: string[]) {
  const before = tls.getCACertificates('default');
  tls.setDefaultCACertificates([...before, ...certificates]);
  onTestFinished(() => tls.setDefaultCACertificates(before));
}

describe('throws ConnectionError with outcome not_sent for', () => {
  test('a port where nothing listens', async () => {
    await expectNotSent(createClientFor(`http://127.0.0.1:${CLOSED_PORT}/api/v1`)(), 'ECONNREFUSED');
  });

  test.each(['ENOTFOUND', 'EAI_AGAIN'])('a name whose lookup fails with %s', async (code) => {
    failLookups(code);
    await expectNotSent(createClientFor('https://payments.example/api/v1')(), code);
  });

  test('a name with two addresses that both refuse (AggregateError)', async () => {
    vi.spyOn(dns, 'lookup').mockImplementation(((_name: string, _options: object, done: AllFound) => {
      done(null, [
        { address: '127.0.0.1', family: 4 },
        { address: '127.0.0.2', family: 4 },
      ]);
    }) as typeof dns.lookup);
    const port = CLOSED_PORT;
    await expectNotSent(createClientFor(`http://two.localhost:${port}/api/v1`)(), 'ECONNREFUSED');
  });

  test('a self-signed certificate', async () => {
    const service = await startTls(createCertificate());
    await expectNotSent(service.client, 'DEPTH_ZERO_SELF_SIGNED_CERT');
    expect(service.requests).toEqual([]);
  });

  test('an expired certificate', async () => {
    const pair = createCertificate({ from: -2, until: -1 });
    trust(pair.cert);
    const service = await startTls(pair);
    await expectNotSent(service.client, 'CERT_HAS_EXPIRED');
    expect(service.requests).toEqual([]);
  });

  test('a certificate for another host', async () => {
    const pair = createCertificate({ address: [10, 0, 0, 1] });
    trust(pair.cert);
    const service = await startTls(pair);
    await expectNotSent(service.client, 'ERR_TLS_CERT_ALTNAME_INVALID');
    expect(service.requests).toEqual([]);
  });

  test('a port that fetch refuses', async () => {
    const client = createClientFor('http://127.0.0.1:9/api/v1')();
    const failure = await catchError(client.chargeMobileMoney(charge));
    expect(failure).toBeInstanceOf(ConnectionError);
    expect(failure).toMatchObject({ outcome: 'not_sent', cause: { cause: { message: 'bad port' } } });
  });
});

test('accepts a trusted certificate', async () => {
  const pair = createCertificate();
  trust(pair.cert);
  const service = await startTls(pair);
  expect(await service.client.chargeMobileMoney(charge)).toMatchObject({ status: 'processing' });
});

describe('proves nothing by', () => {
  test('a reset in the TLS handshake', async () => {
    const server = createTcpServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
    await expectUnknownOutcome(
      createClientFor(`https://127.0.0.1:${await listening(server)}/api/v1`)(),
      'ConnectionError',
    );
  });

  test('an end in the TLS handshake', async () => {
    const server = createTcpServer((socket) => socket.once('data', () => socket.end()));
    await expectUnknownOutcome(
      createClientFor(`https://127.0.0.1:${await listening(server)}/api/v1`)(),
      'ConnectionError',
    );
  });

  test('a server without TLS', async () => {
    const server = createTcpServer((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 400 Bad\r\n\r\n')),
    );
    await expectUnknownOutcome(
      createClientFor(`https://127.0.0.1:${await listening(server)}/api/v1`)(),
      'ConnectionError',
    );
  });

  test('a reset after the connection was made, at the first byte', async () => {
    const server = createTcpServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
    await expectUnknownOutcome(
      createClientFor(`http://127.0.0.1:${await listening(server)}/api/v1`)(),
      'ConnectionError',
    );
  });

  test('a reset, or an end, after the whole request', async () => {
    const reset = await startRawService((socket) => socket.resetAndDestroy());
    await expectUnknownOutcome(reset.client(), 'ConnectionError');
    const ended = await startRawService((socket) => socket.end());
    await expectUnknownOutcome(ended.client(), 'ConnectionError');
    expect(reset.requests).toHaveLength(3);
    expect(ended.requests).toHaveLength(3);
  });

  test('a response that is not HTTP', async () => {
    const service = await startRawService((socket) => socket.end('220 smtp.example ready\r\n'));
    await expectUnknownOutcome(service.client(), 'ConnectionError');
  });

  test('a reset within the headers, or within the body', async () => {
    for (const part of [
      'HTTP/1.1 200 OK\r\nconte',
      'HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"status":',
    ]) {
      const service = await startRawService((socket) => {
        socket.write(part);
        setImmediate(() => socket.resetAndDestroy());
      });
      await expectUnknownOutcome(service.client(), 'ConnectionError');
    }
  });
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
  await expectNotSent(createClientFor('https://payments.example/api/v1')(), code);
});

test('proves that nothing was sent by a reset while connecting', async () => {
  connectionsFailWith(Object.assign(coded('ECONNRESET'), { syscall: 'connect' }));
  await expectNotSent(createClientFor('https://payments.example/api/v1')(), 'ECONNRESET');
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
  await expectUnknownOutcome(createClientFor('https://payments.example/api/v1')(), 'ConnectionError');
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
  await expectUnknownOutcome(
    createClientFor('https://payments.example/api/v1')({ fetch }),
    'ConnectionError',
  );
});

test('does not report not_sent if a body breaks off with a connection error', async () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED'), {
    code: 'ECONNREFUSED',
    syscall: 'connect',
  });
  const fetch = async () => new Response(new ReadableStream({ pull: (body) => body.error(refused) }));
  await expectUnknownOutcome(
    createClientFor('https://payments.example/api/v1')({ fetch }),
    'ConnectionError',
  );
});

test('reports unknown for the empty Promise.any of a fetch', async () => {
  const client = createClientFor('https://127.0.0.1')({ fetch: () => Promise.any([]) });
  await expectUnknownOutcome(client, 'ConnectionError');
});

test('trusts no RetryAgent, which sends more than once', async () => {
  connectionsFailWith(coded('ECONNREFUSED'));
  setGlobalDispatcher(new RetryAgent(getGlobalDispatcher(), { maxRetries: 0 }));
  const client = createClientFor('https://payments.example/api/v1')();
  expect(await catchError(client.chargeMobileMoney(charge))).toMatchObject({
    name: 'OutcomeUnknownError',
    outcome: 'unknown',
    retryable: false,
  });
});
