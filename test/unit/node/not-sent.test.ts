import dns from 'node:dns';
import { createServer as createTcpServer } from 'node:net';
import tls from 'node:tls';
import { Agent, Client } from 'undici';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ConnectionError, OutcomeUnknownError, type PaymentsClient } from '../../../src/index.ts';
import { undiciTransport } from '../../../src/node/index.ts';
import { calls, posts, REFERENCE } from '../../helpers/calls.ts';
import { createCertificate } from '../../helpers/certificate.ts';
import { failLookups } from '../../helpers/fail-lookups.ts';
import { startHungListener } from '../../helpers/hung-listener.ts';
import { CLOSED_PORT, createClientFor, listening, startRawService } from '../../helpers/raw-service.ts';
import { catchError, charge, successBodies } from '../../helpers/service.ts';

const over = (baseUrl: string) => createClientFor(baseUrl)({ transport: undiciTransport() });

/** Proves that no connection was made: every operation reports it, and is retryable. */
async function expectNotSent(client: PaymentsClient, cause: object) {
  for (const operation of posts) {
    const failure = await catchError(calls[operation](client));
    expect(failure).toBeInstanceOf(ConnectionError);
    expect(failure).toMatchObject({ operation, outcome: 'not_sent', retryable: true, cause });
  }
  const onVerify = await catchError(client.verify(REFERENCE));
  expect(onVerify).toBeInstanceOf(ConnectionError);
  expect(onVerify).toMatchObject({ operation: 'verify', outcome: null, retryable: true });
}

/** Nothing is proven: a POST is unknown, and a read is retryable. */
async function expectInDoubt(client: PaymentsClient) {
  for (const operation of posts) {
    const failure = await catchError(calls[operation](client));
    expect(failure).toBeInstanceOf(OutcomeUnknownError);
    expect(failure).toMatchObject({ operation, outcome: 'unknown', retryable: false });
  }
  const onVerify = await catchError(client.verify(REFERENCE));
  expect(onVerify).toBeInstanceOf(ConnectionError);
  expect(onVerify).toMatchObject({ operation: 'verify', outcome: null, retryable: true });
}

type AllFound = (error: null, addresses: dns.LookupAddress[]) => void;

function lookUpGives(...addresses: string[]) {
  vi.spyOn(dns, 'lookup').mockImplementation(((_name: string, _options: object, done: AllFound) => {
    done(
      null,
      addresses.map((address) => ({ address, family: 4 })),
    );
  }) as typeof dns.lookup);
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
  return { baseUrl: `https://127.0.0.1:${await listening(server)}/api/v1`, requests };
};

function trust(...certificates: string[]) {
  const before = tls.getCACertificates('default');
  tls.setDefaultCACertificates([...before, ...certificates]);
  onTestFinished(() => tls.setDefaultCACertificates(before));
}

describe('throws ConnectionError with outcome not_sent for', () => {
  test('a port where nothing listens', async () => {
    await expectNotSent(over(`http://127.0.0.1:${CLOSED_PORT}`), { code: 'ECONNREFUSED' });
  });

  test('a name that does not exist', async () => {
    failLookups('ENOTFOUND');
    await expectNotSent(over('https://nonexistent.example'), { code: 'ENOTFOUND' });
  });

  test('a name with two addresses that both refuse', async () => {
    lookUpGives('127.0.0.1', '127.0.0.2');
    const port = CLOSED_PORT;
    await expectNotSent(over(`http://two.localhost:${port}`), { code: 'ECONNREFUSED' });
  });

  test.each([
    ['that is signed by itself', {}, false, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['that has expired', { from: -2, until: -1 }, true, 'CERT_HAS_EXPIRED'],
    ['for another host', { address: [10, 0, 0, 1] }, true, 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ])('a certificate %s', async (_what, options, isTrusted, code) => {
    const pair = createCertificate(options);
    if (isTrusted) trust(pair.cert);
    const { baseUrl, requests } = await startTls(pair);
    await expectNotSent(over(baseUrl), { code });
    expect(requests).toEqual([]);
  });
});

test('uses HTTP/1.1 with a trusted service that offers HTTP/2 too', async () => {
  const pair = createCertificate();
  trust(pair.cert);
  const { baseUrl, requests } = await startTls({ ...pair, ALPNProtocols: ['h2', 'http/1.1'] });
  expect(await over(baseUrl).chargeMobileMoney(charge)).toMatchObject({ status: 'processing' });
  expect(requests.join('')).toMatch(/^POST .* HTTP\/1\.1\r\n/);
});

describe('proves nothing by', () => {
  test.each<[string, (socket: import('node:net').Socket) => void]>([
    ['a reset in the TLS handshake', (socket) => socket.resetAndDestroy()],
    ['an end in the TLS handshake', (socket) => socket.end()],
    ['a server that speaks no TLS', (socket) => socket.end('HTTP/1.1 400 Bad\r\n\r\n')],
  ])('%s', async (_what, leave) => {
    const server = createTcpServer((socket) => socket.once('data', () => leave(socket)));
    await expectInDoubt(over(`https://127.0.0.1:${await listening(server)}`));
  });

  test.each<[string, (socket: import('node:net').Socket) => void]>([
    ['a reset after the whole request', (socket) => socket.resetAndDestroy()],
    ['an end after the whole request', (socket) => socket.end()],
    ['a response that is not HTTP', (socket) => socket.end('220 smtp.example ready\r\n')],
    ['a truncated response', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"st')],
  ])('%s', async (_what, leave) => {
    const service = await startRawService(leave);
    await expectInDoubt(service.client({ transport: undiciTransport() }));
    expect(service.requests).toHaveLength(3);
  });

  test("a connect timeout of a merchant's dispatcher, which names no host", async () => {
    const { baseUrl, fill, kill } = await startHungListener(1);
    onTestFinished(kill);
    await fill();
    const dispatcher = new Agent({ connect: { timeout: 100 } });
    onTestFinished(() => dispatcher.destroy());
    await expectInDoubt(createClientFor(baseUrl)({ transport: undiciTransport({ dispatcher }) }));
  });

  test('a dispatcher that is destroyed during the charge', async () => {
    const service = await startRawService(() => void dispatcher.destroy());
    const dispatcher = new Client(new URL(service.baseUrl).origin);
    const client = service.client({ transport: undiciTransport({ dispatcher }) });
    expect(await catchError(client.chargeMobileMoney(charge))).toBeInstanceOf(OutcomeUnknownError);
    expect(service.requests).toHaveLength(1);
  });
});
