import { createServer } from 'node:http';
import { HttpResponse, http, type RequestHandler } from 'msw';
import { setupServer } from 'msw/node';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  ConnectionError,
  NotFoundError,
  OutcomeUnknownError,
  PaymentsClient,
  PaymentsError,
  RequestTimeoutError,
  ServerError,
} from '../../../src/index.ts';
import { undiciTransport } from '../../../src/node/index.ts';
import { createMockPayments, type Faults, type MockPaymentsOptions } from '../../../src/testing/index.ts';
import { listenForTest } from '../../helpers/listen.ts';
import { checkEveryExchange } from '../../helpers/openapi/check-every-exchange.ts';
import { catchError, charge, payment } from '../../helpers/service.ts';
import { chargeWithFault, useFakeClock } from './start-mock.ts';

const nodesOwn = globalThis.fetch;

/** Closes what a test has started, the latest first. */
const closings: (() => void)[] = [];

afterEach(() => {
  for (const close of closings.splice(0).reverse()) close();
  expect(globalThis.fetch).toBe(nodesOwn);
});

/** Starts a mock that listens until the test ends, and creates a client of it that does not retry. */
function listen(options?: MockPaymentsOptions) {
  checkEveryExchange();
  const mock = createMockPayments(options);
  mock.listen();
  closings.push(mock.close);
  return { mock, payments: connect(mock) };
}

/** The same with a server of MSW. */
function startServer() {
  const mock = createMockPayments();
  startMsw(...mock.handlers);
  return { mock, payments: connect(mock) };
}

/** Starts a server of MSW, until the test ends or it is closed. */
function startMsw(...handlers: RequestHandler[]): { close(): void } {
  const server = setupServer(...handlers);
  server.listen({ onUnhandledFrame: 'bypass' });
  let isOpen = true;
  const close = () => {
    if (isOpen) server.close();
    isOpen = false;
  };
  closings.push(close);
  return { close };
}

function connect({ baseUrl, apiKey }: { baseUrl: string; apiKey: string }): PaymentsClient {
  return new PaymentsClient({ baseUrl, apiKey, maxRetries: 0 });
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

/** Starts a server of MSW for the shop's own host. */
function startShopServer() {
  const { close } = startMsw(http.get('https://shop.example/stock', () => HttpResponse.json({ left: 3 })));
  return { close, readStock: async () => (await fetch('https://shop.example/stock')).json() };
}

test('responds to a client that was created before', async () => {
  const mock = createMockPayments();
  const payments = connect(mock);
  mock.listen();
  closings.push(mock.close);
  const { reference } = await payments.chargeMobileMoney(charge);
  mock.approve(reference);
  expect((await payments.verify(reference)).status).toBe('success');
  expect(mock.charges).toHaveLength(1);
});

test('lets requests to other hosts pass, unchanged', async () => {
  const host = await startOtherHost();
  listen({ baseUrl: 'http://127.0.0.1:9/api/v1' });
  const send = async (...args: Parameters<typeof fetch>) => (await fetch(...args)).text();
  const init = { method: 'POST', headers: { 'X-Shop': 'Accra' }, body: 'order 17' };
  expect(await send(`${host}/api/v1/a`, init)).toBe('POST /api/v1/a Accra order 17');
  expect(await send(new URL('/b', host), init)).toBe('POST /b Accra order 17');
  expect(await send(new Request(`${host}/c`, init))).toBe('POST /c Accra order 17');
  await expect(fetch('no address')).rejects.toThrow(TypeError);
});

test('takes a text, a URL and a Request', async () => {
  const { mock } = listen();
  const address = `${mock.baseUrl}/transactions/verify/TXN-1`;
  const init = { headers: { Authorization: `Bearer ${mock.apiKey}` } };
  for (const input of [address, new URL(address), new Request(address)]) {
    expect((await fetch(input, init)).status).toBe(404);
  }
  expect(mock.requests.map(({ operation }) => operation)).toEqual(['verify', 'verify', 'verify']);
});

describe('a request to its host outside of the base URL', () => {
  test('gets 404, is not sent and is not recorded', async () => {
    const { mock } = listen();
    for (const path of ['/api/v2/transactions/initialize', '/api/v12/transactions/initialize', '/', '']) {
      const response = await fetch(`https://payments.example${path}`, { method: 'POST', body: charge.phone });
      expect(response.status).toBe(404);
      expect(await response.json()).toEqual({
        status: false,
        message: 'The mock only responds below https://payments.example/api/v1. Nothing was sent.',
      });
    }
    expect(mock.requests).toEqual([]);
  });

  test('is an error of a client with another base URL', async () => {
    const { mock } = listen();
    const payments = connect({ ...mock, baseUrl: 'https://payments.example/api/v2' });
    const error = await catchError(payments.chargeMobileMoney(charge));
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({ outcome: 'rejected' });
    expect(mock.charges).toEqual([]);
  });
});

describe('listen and close', () => {
  test('change nothing when they are called again', async () => {
    const mock = createMockPayments();
    mock.close();
    expect(globalThis.fetch).toBe(nodesOwn);
    mock.listen();
    const { fetch } = globalThis;
    mock.listen();
    expect(globalThis.fetch).toBe(fetch);
    await connect(mock).initialize(payment);
    mock.close();
    expect(globalThis.fetch).toBe(nodesOwn);
    mock.close();
    expect(globalThis.fetch).toBe(nodesOwn);
  });

  test('keep the records for a last look', async () => {
    const { mock, payments } = listen();
    await payments.chargeMobileMoney(charge);
    mock.close();
    expect([mock.charges, mock.transactions, mock.requests].map(({ length }) => length)).toEqual([1, 1, 1]);
  });

  test('can follow each other', async () => {
    const { mock, payments } = listen();
    const { reference } = await payments.initialize(payment);
    mock.close();
    mock.listen();
    expect((await payments.verify(reference)).status).toBe('pending');
  });

  test('stop at the end of a scope with using', async () => {
    {
      using mock = createMockPayments();
      mock.listen();
      await connect(mock).initialize(payment);
    }
    expect(globalThis.fetch).toBe(nodesOwn);
  });

  test('break a request that hangs', async () => {
    const { mock, payments } = listen();
    mock.fault('chargeMobileMoney', { kind: 'hang', accepted: true });
    const error = catchError(payments.chargeMobileMoney(charge));
    await vi.waitFor(() => expect(mock.charges).toHaveLength(1));
    mock.close();
    expect(await error).toBeInstanceOf(OutcomeUnknownError);
    expect(await error).toMatchObject({ cause: expect.any(ConnectionError) });
  });

  test('break a response that is slow', async () => {
    const { mock, payments } = listen();
    mock.fault('initialize', { kind: 'slowBody', interval: 60_000 });
    const error = catchError(payments.initialize(payment));
    await vi.waitFor(() => expect(mock.transactions).toHaveLength(1));
    mock.close();
    expect(await error).toMatchObject({ outcome: 'unknown', cause: expect.any(ConnectionError) });
  });

  test('end the deliveries of webhooks, and remove their receiver', async () => {
    const { mock, payments } = listen();
    const receive = vi.fn();
    mock.webhooks.deliverTo(receive);
    mock.webhooks.fault({ kind: 'late', delay: 60_000 });
    const { reference } = await payments.initialize(payment);
    mock.approve(reference);
    expect(mock.webhooks.deliveries).toMatchObject([{ state: 'waiting' }]);
    mock.close();
    await mock.webhooks.flush();
    expect(receive).not.toHaveBeenCalled();
    expect(mock.webhooks.deliveries).toMatchObject([{ state: 'failed' }]);
    expect(() => mock.webhooks.send(reference)).toThrow('no receiver');
  });

  test('refuse an environment without fetch', () => {
    vi.stubGlobal('fetch', undefined);
    onTestFinished(() => void vi.unstubAllGlobals());
    expect(() => createMockPayments().listen()).toThrow('There is no global fetch');
    vi.unstubAllGlobals();
  });
});

describe('two mocks', () => {
  test('listen at two base URLs, and close in any order', async () => {
    const first = listen({ baseUrl: 'https://one.example/api/v1' });
    const second = listen({ baseUrl: 'https://two.example/api/v1' });
    await first.payments.initialize(payment);
    await second.payments.chargeMobileMoney(charge);
    expect([first.mock.requests.length, second.mock.requests.length]).toEqual([1, 1]);
    first.mock.close();
    expect((await second.payments.verify('TXN-000001')).status).toBe('pending');
    second.mock.close();
    expect(globalThis.fetch).toBe(nodesOwn);
  });

  test('share a host, each below its own base URL', async () => {
    const outer = listen({ baseUrl: 'https://payments.example' });
    const inner = listen({ baseUrl: 'https://payments.example/api/v1' });
    await outer.payments.initialize(payment);
    await inner.payments.initialize(payment);
    expect([outer.mock.requests.length, inner.mock.requests.length]).toEqual([1, 1]);
  });

  test('cannot listen at the same base URL at once', () => {
    const { mock } = listen();
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
    const shop = startShopServer();
    const { mock, payments } = listen();
    await payments.initialize(payment);
    expect(await shop.readStock()).toEqual({ left: 3 });
    mock.close();
    expect(await shop.readStock()).toEqual({ left: 3 });
    shop.close();
  });

  test('works beside a mock that listens before it', async () => {
    const { mock, payments } = listen();
    const shop = startShopServer();
    await payments.initialize(payment);
    expect(await shop.readStock()).toEqual({ left: 3 });
    shop.close();
    await payments.initialize(payment);
    expect(mock.requests).toHaveLength(2);
  });

  test('can close after a mock that it was started on top of', async () => {
    const { mock } = listen();
    const shop = startShopServer();
    mock.close();
    expect(await shop.readStock()).toEqual({ left: 3 });
    shop.close();
    const host = await startOtherHost();
    expect(await (await fetch(host)).text()).toBe('GET / undefined ');
    mock.close();
  });

  test('takes the mock away if it closes first, until listen', async () => {
    const shop = startShopServer();
    const { mock, payments } = listen({ baseUrl: 'http://127.0.0.1:9/api/v1' });
    shop.close();
    expect(await catchError(payments.initialize(payment))).toBeInstanceOf(ConnectionError);
    mock.listen();
    await payments.initialize(payment);
    expect(mock.requests).toHaveLength(1);
  });
});

// Why the mock starts no server of MSW. If this fails, MSW has changed, and the mock could use one.
test('two servers of MSW turn each other off', async () => {
  const host = await startOtherHost();
  startMsw(http.get(host, () => HttpResponse.text('the first server')));
  const read = async () => (await fetch(host, { headers: { Connection: 'close' } })).text();
  const second = startMsw(http.get('https://shop.example/stock', () => HttpResponse.json({ left: 3 })));
  expect(await read()).toMatch(/^GET \/ /);
  second.close();
  expect(await read()).toMatch(/^GET \/ /);
});

const faults: readonly Faults['chargeMobileMoney'][] = [
  { kind: 'status', status: 502, body: 'html', accepted: true },
  { kind: 'status', status: 302, headers: { location: 'https://shop.example/' } },
  { kind: 'status', status: 204 },
  { kind: 'rateLimited', retryAfter: 60_000 },
  { kind: 'reset' },
  { kind: 'responseLost' },
  { kind: 'hang' },
  { kind: 'slowBody', interval: 50 },
  { kind: 'truncated' },
  { kind: 'wrongAmount', amount: '2.55' },
  { kind: 'wrongCurrency', currency: 'USD' },
  { kind: 'wrongReference', reference: '17' },
];

test.each(faults)('a fault $kind is the same error as behind MSW (%#)', async (fault) => {
  const seen = [];
  for (const start of [listen, startServer]) {
    const { mock, payments } = start();
    const { error, charged } = await chargeWithFault({ mock, payments }, fault);
    seen.push({ ...describeError(error), charged });
    for (const close of closings.splice(0)) close();
  }
  const [listening, behindMsw] = seen;
  expect(listening).toEqual(behindMsw);
});

function describeError(error: unknown): object {
  if (!(error instanceof PaymentsError)) throw new Error('The charge did not fail.', { cause: error });
  const { name, code, outcome, cause } = error;
  return { name, code, outcome, cause: cause instanceof Error ? cause.name : null };
}

test('ends a wait under fake timers', async () => {
  useFakeClock();
  const { mock, payments } = listen();
  mock.settleAfter('next', 20_000, 'success');
  const { reference } = await payments.chargeMobileMoney(charge);
  const wait = payments.waitForFinalStatus(reference);
  await vi.advanceTimersByTimeAsync(60_000);
  expect((await wait).status).toBe('success');
});

test('ends a request that hangs at its timeout', async () => {
  const { mock, payments } = listen();
  mock.fault('initialize', { kind: 'hang' });
  const error = await catchError(payments.initialize(payment, { timeout: 50 }));
  expect(error).toMatchObject({ cause: expect.any(RequestTimeoutError) });
});

test('rejects with the reason of a signal, before the request and during it', async () => {
  const { mock, payments } = listen();
  const { reference } = await payments.initialize(payment);
  mock.fault('verify', { kind: 'hang' }, { times: 2 });
  const headers = { Authorization: `Bearer ${mock.apiKey}` };
  const verify = (signal: AbortSignal) =>
    fetch(`${mock.baseUrl}/transactions/verify/${reference}`, { headers, signal });
  const reason = new Error('the customer left');
  await expect(verify(AbortSignal.abort(reason))).rejects.toBe(reason);
  expect(mock.requests).toHaveLength(1);
  const leaving = new AbortController();
  const verified = expect(verify(leaving.signal)).rejects.toBe(reason);
  await vi.waitFor(() => expect(mock.requests).toHaveLength(2));
  leaving.abort(reason);
  await verified;
});

test('responds with 500 if the body of a fault can no longer be sent', async () => {
  const { mock, payments } = listen();
  const data = {};
  mock.fault('verify', { kind: 'status', status: 422, body: { data } });
  Reflect.set(data, 'amount', 1n);
  const { reference } = await payments.initialize(payment);
  const error = await catchError(payments.verify(reference));
  expect(error).toBeInstanceOf(ServerError);
  expect(error).toMatchObject({ message: expect.stringContaining('BigInt') });
});

test('does not see requests through undiciTransport, or another fetch', async () => {
  const { mock } = listen({ baseUrl: 'http://127.0.0.1:9/api/v1' });
  const { baseUrl, apiKey } = mock;
  await using transport = undiciTransport();
  for (const own of [{ transport }, { fetch: nodesOwn }]) {
    const error = await catchError(
      new PaymentsClient({ baseUrl, apiKey, maxRetries: 0, ...own }).verify('TXN-1'),
    );
    expect(error).toBeInstanceOf(ConnectionError);
  }
  expect(mock.requests).toEqual([]);
});
