import dns from 'node:dns';
import { createServer as createTcpServer, type Socket } from 'node:net';
import tls from 'node:tls';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createCertificate } from '../../helpers/certificate.ts';
import { failLookups } from '../../helpers/fail-lookups.ts';
import { listenForTest } from '../../helpers/listen.ts';
import { expectNotSent } from '../../helpers/not-sent.ts';
import { CLOSED_PORT, createClientFor, startRawService } from '../../helpers/raw-service.ts';
import { charge, successBodies } from '../../helpers/service.ts';
import { expectUnknownOutcome } from '../../helpers/unknown-outcome.ts';

type AllFound = (error: null, addresses: dns.LookupAddress[]) => void;

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

describe('proves nothing by', () => {
  const reset = (socket: Socket) => void socket.resetAndDestroy();
  const end = (socket: Socket) => void socket.end();

  test.each<[string, 'http' | 'https', (socket: Socket) => void]>([
    ['a reset in the TLS handshake', 'https', reset],
    ['an end in the TLS handshake', 'https', end],
    ['a server without TLS', 'https', (socket) => socket.end('HTTP/1.1 400 Bad\r\n\r\n')],
    ['a reset at the first byte of a request', 'http', reset],
  ])('%s', async (_what, protocol, leave) => {
    const server = createTcpServer((socket) => socket.once('data', () => leave(socket)));
    const client = createClientFor(`${protocol}://127.0.0.1:${await listenForTest(server)}/api/v1`)();
    await expectUnknownOutcome(client, 'ConnectionError');
  });

  const breakOff = (part: string) => (socket: Socket) => {
    socket.write(part);
    setImmediate(() => socket.resetAndDestroy());
  };
  test.each<[string, (socket: Socket) => void]>([
    ['a reset after the whole request', reset],
    ['an end after the whole request', end],
    ['a response that is not HTTP', (socket) => socket.end('220 smtp.example ready\r\n')],
    ['a reset within the headers', breakOff('HTTP/1.1 200 OK\r\nconte')],
    ['a reset within the body', breakOff('HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"status":')],
    ['an end within the body', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"st')],
  ])('%s', async (_what, leave) => {
    const service = await startRawService(leave);
    await expectUnknownOutcome(service.client(), 'ConnectionError');
    expect(service.requests).toHaveLength(3);
  });
});
