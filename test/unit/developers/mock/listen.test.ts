import { createServer } from 'node:http';
import { HttpResponse, http, type RequestHandler } from 'msw';
import { setupServer } from 'msw/node';
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

/** Starts a server of MSW, until the test ends or it is closed. */
function startMsw(...handlers: RequestHandler[]): { close(): void } {
  const server = setupServer(...handlers);
  server.listen({ onUnhandledFrame: 'bypass' });
  let isOpen = true;
  const close = () => {
    if (isOpen) server.close();
    isOpen = false;
  };
  onTestFinished(close);
  return { close };
}

/** Starts a server of MSW for the shop's own host. */
function startShop() {
  const { close } = startMsw(http.get('https://shop.example/stock', () => HttpResponse.json({ left: 3 })));
  const readStock = async () => (await fetch('https://shop.example/stock')).json();
  return { close, expectStock: async () => expect(await readStock()).toEqual({ left: 3 }) };
}

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

describe('two mocks', () => {
  test.each([
    ['two hosts', 'https://one.example/api/v1', 'https://two.example/api/v1'],
    ['one host, each below its own base URL', 'https://payments.example', 'https://payments.example/api/v1'],
  ])('listen at %s, and close in any order', async (_, one, two) => {
    const first = startListening({ baseUrl: one });
    const second = startListening({ baseUrl: two });
    await first.payments.initialize(payment);
    await second.payments.chargeMobileMoney(charge);
    expect([first.mock.requests.length, second.mock.requests.length]).toEqual([1, 1]);
    first.mock.close();
    expect((await second.payments.verify('TXN-000001')).status).toBe('pending');
    second.mock.close();
    expect(globalThis.fetch).toBe(nodesOwn);
  });

  test('cannot listen at the same base URL at once', () => {
    const { mock } = startListening();
    const other = createMockPayments();
    expect(() => other.listen()).toThrow(
      'Another mock already listens at https://payments.example/api/v1. Close it first, or give each mock a baseUrl of its own.',
    );
    mock.close();
    other.listen();
    other.close();
  });
});

describe("a merchant's own server of MSW", () => {
  test('works beside a mock that listens after it', async () => {
    const shop = startShop();
    const { mock, payments } = startListening();
    await payments.initialize(payment);
    await shop.expectStock();
    mock.close();
    await shop.expectStock();
  });

  test('works beside a mock that listens before it', async () => {
    const { mock, payments } = startListening();
    const shop = startShop();
    await payments.initialize(payment);
    await shop.expectStock();
    shop.close();
    await payments.initialize(payment);
    expect(mock.requests).toHaveLength(2);
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
