import { createServer } from 'node:http';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createMockPayments } from '../../../../src/developers/mock/index.ts';
import { ConnectionError, PaymentsClient } from '../../../../src/index.ts';
import { undiciTransport } from '../../../../src/node/index.ts';
import { listenForTest } from '../../../helpers/listen.ts';
import { catchError, charge, payment } from '../../../helpers/service.ts';
import { connect, startListening } from './start-mock.ts';

const nodesOwn = globalThis.fetch;

// Registered first, so that it runs after what closes the mocks of a test.
beforeEach(() => onTestFinished(() => expect(globalThis.fetch).toBe(nodesOwn)));

/** Starts a host that is not a mock. It repeats what it received. */
async function startOtherHost(): Promise<string> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    response.end(`${request.method} ${request.url} ${request.headers['x-shop']} ${Buffer.concat(chunks)}`);
  });
  return `http://127.0.0.1:${await listenForTest(server)}`;
}

test('lets requests to other hosts pass, unchanged', async () => {
  const host = await startOtherHost();
  startListening({ baseUrl: 'http://127.0.0.1:9/api/v1' });
  const send = async (...args: Parameters<typeof fetch>) => (await fetch(...args)).text();
  const init = { method: 'POST', headers: { 'X-Shop': 'Accra' }, body: 'order 17' };
  expect(await send(`${host}/api/v1/a`, init)).toBe('POST /api/v1/a Accra order 17');
  expect(await send(new URL('/b', host), init)).toBe('POST /b Accra order 17');
  expect(await send(new Request(`${host}/c`, init))).toBe('POST /c Accra order 17');
  await expect(fetch('no address')).rejects.toThrow(TypeError);
});

test('takes a text, a URL and a Request', async () => {
  const { mock } = startListening();
  const address = `${mock.baseUrl}/transactions/verify/TXN-1`;
  const init = { headers: { Authorization: `Bearer ${mock.apiKey}` } };
  for (const input of [address, new URL(address), new Request(address)])
    expect((await fetch(input, init)).status).toBe(404);
  expect(mock.requests.map(({ operation }) => operation)).toEqual(['verify', 'verify', 'verify']);
});

test('of two mocks on one host, the one with the longer address responds', async () => {
  const [short, long] = ['/api', '/api/v1'].map(
    (path) => startListening({ baseUrl: `https://payments.example${path}` }).mock,
  );
  await fetch(`${long?.baseUrl}/transactions/verify/TXN-1`);
  expect([short?.requests.length, long?.requests.length]).toEqual([0, 1]);
});

describe('listen and close', () => {
  test('change nothing when they are called again, and can follow each other', async () => {
    const mock = createMockPayments();
    const { payments } = connect(mock);
    mock.close();
    mock.listen();
    const { fetch } = globalThis;
    mock.listen();
    expect(globalThis.fetch).toBe(fetch);
    const { reference } = await payments.chargeMobileMoney(charge);
    mock.close();
    mock.close();
    expect(globalThis.fetch).toBe(nodesOwn);
    // The records stay for a last look.
    expect([mock.charges, mock.transactions, mock.requests].map(({ length }) => length)).toEqual([1, 1, 1]);
    mock.listen();
    onTestFinished(() => mock.close());
    expect((await payments.verify(reference)).status).toBe('pending');
  });

  test('stop at the end of a scope with using', async () => {
    {
      using mock = createMockPayments();
      mock.listen();
      await connect(mock).payments.initialize(payment);
    }
    expect(globalThis.fetch).toBe(nodesOwn);
  });

  test.each([
    { kind: 'hang', accepted: true },
    { kind: 'slowBody', interval: 60_000 },
  ] as const)('break a request that meets %j', async (fault) => {
    const { mock, payments } = startListening();
    mock.fault('chargeMobileMoney', fault);
    const error = catchError(payments.chargeMobileMoney(charge));
    await vi.waitFor(() => expect(mock.charges).toHaveLength(1));
    mock.close();
    expect(await error).toMatchObject({ outcome: 'unknown', cause: expect.any(ConnectionError) });
  });

  test('refuse an environment without fetch', () => {
    vi.stubGlobal('fetch', undefined);
    onTestFinished(() => void vi.unstubAllGlobals());
    expect(() => createMockPayments().listen()).toThrow('There is no global fetch');
    vi.unstubAllGlobals();
  });
});

test('rejects with the reason of a signal, before the request and during it', async () => {
  const { mock } = startListening();
  mock.fault('initialize', { kind: 'hang' });
  const headers = { Authorization: `Bearer ${mock.apiKey}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ ...payment, amount: 25.5 });
  const send = (signal: AbortSignal) =>
    fetch(`${mock.baseUrl}/transactions/initialize`, { method: 'POST', headers, body, signal });
  const reason = new Error('the customer left');
  await expect(send(AbortSignal.abort(reason))).rejects.toBe(reason);
  expect(mock.requests).toEqual([]);
  const leaving = new AbortController();
  const sent = expect(send(leaving.signal)).rejects.toBe(reason);
  await vi.waitFor(() => expect(mock.requests).toHaveLength(1));
  leaving.abort(reason);
  await sent;
});

test('does not see requests through undiciTransport, or another fetch', async () => {
  const { mock } = startListening({ baseUrl: 'http://127.0.0.1:9/api/v1' });
  const { baseUrl, apiKey } = mock;
  await using transport = undiciTransport();
  for (const own of [{ transport }, { fetch: nodesOwn }]) {
    const payments = new PaymentsClient({ baseUrl, apiKey, maxRetries: 0, ...own });
    expect(await catchError(payments.verify('TXN-1'))).toBeInstanceOf(ConnectionError);
  }
  expect(mock.requests).toEqual([]);
});
