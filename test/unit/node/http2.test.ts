import { createSecureServer, type IncomingHttpHeaders } from 'node:http2';
import tls from 'node:tls';
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import type { PaymentsClientOptions } from '../../../src/index.ts';
import { undiciTransport } from '../../../src/node/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { createCertificate } from '../../helpers/certificate.ts';
import { listenForTest } from '../../helpers/listen.ts';
import { createClientFor } from '../../helpers/raw-service.ts';
import { charge, successBodies } from '../../helpers/service.ts';

/** Starts a service that prefers HTTP/2, and counts the requests by version. */
async function startOfferingHttp2() {
  const pair = createCertificate();
  const before = tls.getCACertificates('default');
  tls.setDefaultCACertificates([...before, pair.cert]);
  onTestFinished(() => tls.setDefaultCACertificates(before));
  const versions: string[] = [];
  const server = createSecureServer({ ...pair, allowHTTP1: true }, (request, response) => {
    versions.push(request.httpVersion);
    request.resume();
    const { ':method': method = request.method }: IncomingHttpHeaders = request.headers;
    response.end(
      JSON.stringify(method === 'POST' ? successBodies.chargeMobileMoney() : successBodies.verify()),
    );
  });
  const port = await listenForTest(server);
  return { baseUrl: `https://127.0.0.1:${port}/api/v1`, versions };
}

const over = (dispatcher: Dispatcher): PaymentsClientOptions => {
  onTestFinished(() => dispatcher.destroy());
  return { transport: undiciTransport({ dispatcher }) };
};

test.each<[string, () => PaymentsClientOptions]>([
  ['the default fetch', () => ({})],
  [
    'undiciTransport',
    () => {
      const transport = undiciTransport();
      onTestFinished(() => transport.close());
      return { transport };
    },
  ],
  ["an Agent of the merchant's own that allows it", () => over(new Agent({ allowH2: true }))],
  ['an EnvHttpProxyAgent without a proxy', () => over(new EnvHttpProxyAgent())],
])('never uses HTTP/2 over %s', async (_, options) => {
  const { baseUrl, versions } = await startOfferingHttp2();
  const client = createClientFor(baseUrl)(options());
  await client.chargeMobileMoney(charge);
  await client.verify(REFERENCE);
  expect(versions).toEqual(['1.1', '1.1']);
});

test('cannot keep a Pool or Client of undici 8 from HTTP/2', async () => {
  const { baseUrl, versions } = await startOfferingHttp2();
  const { Pool } = await import('undici');
  const client = createClientFor(baseUrl)(over(new Pool(new URL(baseUrl).origin)));
  await client.verify(REFERENCE);
  expect(versions).toEqual(['2.0']);
});
