import dns from 'node:dns';
import { createServer as createTcpServer, type Socket } from 'node:net';
import tls from 'node:tls';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createCertificate } from '../../helpers/certificate.ts';
import { expectNotSent, expectUnknownOutcome } from '../../helpers/expected-outcomes.ts';
import { failLookups } from '../../helpers/fail-lookups.ts';
import { formatSuccess } from '../../helpers/http-messages.ts';
import { listenForTest } from '../../helpers/listen.ts';
import { CLOSED_PORT, createClientFor } from '../../helpers/raw-service.ts';
import { catchError, charge, successBodies } from '../../helpers/service.ts';

const createClient = createClientFor('https://payments.example/api/v1');

const startTls = async (options: tls.TlsOptions) => {
  const requests: string[] = [];
  const server = tls.createServer(options, (socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      requests.push(chunk.toString('latin1'));
      socket.write(formatSuccess(successBodies.chargeMobileMoney()));
    });
  });
  return { client: createClientFor(`https://127.0.0.1:${await listenForTest(server)}/api/v1`)(), requests };
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
    await expectNotSent(createClient(), code);
  });

  test('a name with two addresses that both refuse (AggregateError)', async () => {
    const found = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }));
    vi.spyOn(dns, 'lookup').mockImplementation((...given: unknown[]) => Object(given.at(-1))(null, found));
    await expectNotSent(createClientFor(`http://two.localhost:${CLOSED_PORT}/api/v1`)(), 'ECONNREFUSED');
  });

  test.each([
    ['that is self-signed', {}, false, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['that has expired', { from: -2, until: -1 }, true, 'CERT_HAS_EXPIRED'],
    ['for another host', { address: [10, 0, 0, 1] }, true, 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ])('a certificate %s', async (_what, options, isTrusted, code) => {
    const pair = createCertificate(options);
    if (isTrusted) trust(pair.cert);
    const service = await startTls(pair);
    await expectNotSent(service.client, code);
    expect(service.requests).toEqual([]);
  });
});

test('accepts a trusted certificate', async () => {
  const pair = createCertificate();
  trust(pair.cert);
  const service = await startTls(pair);
  expect(await service.client.chargeMobileMoney(charge)).toMatchObject({ status: 'processing' });
});

// What the fault sweep cuts at every byte of a request and a response is not here again.
test.each<[string, 'http' | 'https', (socket: Socket) => void]>([
  ['a reset in the TLS handshake', 'https', (socket) => socket.resetAndDestroy()],
  ['an end in the TLS handshake', 'https', (socket) => socket.end()],
  ['a server without TLS', 'https', (socket) => socket.end('HTTP/1.1 400 Bad\r\n\r\n')],
  ['a response that is not HTTP', 'http', (socket) => socket.end('220 smtp.example ready\r\n')],
])('proves nothing by %s', async (_what, protocol, leave) => {
  const server = createTcpServer((socket) => socket.once('data', () => leave(socket)));
  const client = createClientFor(`${protocol}://127.0.0.1:${await listenForTest(server)}/api/v1`)();
  await expectUnknownOutcome(client, 'ConnectionError');
});

test('proves nothing by a refused second try of a fetch that retries, once the first has left', async () => {
  const server = createTcpServer((socket) => {
    server.close();
    socket.once('data', () => socket.destroy());
  });
  const port = await listenForTest(server);
  const fetchTwice: typeof fetch = (...request) => fetch(...request).catch(() => fetch(...request));
  const client = createClientFor(`http://127.0.0.1:${port}/api/v1`)({ fetch: fetchTwice, maxRetries: 0 });
  const error = await catchError(client.chargeMobileMoney(charge));
  expect(error).toMatchObject({ outcome: 'unknown', cause: { cause: { cause: { code: 'ECONNREFUSED' } } } });
});
