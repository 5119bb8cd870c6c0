import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { PaymentService } from '../../../src/testing/service.ts';
import { payment } from './start-mock.ts';

const origin = 'https://payments.example';
let service: PaymentService;

beforeEach(() => {
  service = new PaymentService({
    baseUrl: `${origin}/api/v1`,
    checkoutBase: 'https://pay.example',
    apiKeys: ['sk_test_one', 'sk_live_two'],
    refuseTestCharges: true,
  });
});

function start(path = '/api/v1/transactions/initialize', key = 'sk_test_one', signal?: AbortSignal) {
  return service.handle(
    new Request(origin + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...payment, amount: 25.5, phone: '024 412 3456', network: 'mtn' }),
      ...(signal ? { signal } : {}),
    }),
  );
}

test('answers a request without MSW', async () => {
  const response = await start();
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({
    status: true,
    data: { checkout_url: 'https://pay.example/checkout/TXN-000001' },
  });
});

test('takes each of several keys, of which a test key does not charge', async () => {
  const path = '/api/v1/transactions/charge-mobile-money';
  expect((await start(path, 'sk_test_one')).status).toBe(403);
  expect((await start(path, 'sk_live_two')).status).toBe(200);
  expect((await start(path, 'sk_live_three')).status).toBe(401);
});

test.each(['/transactions/initialize', '/api/v2/transactions/initialize', '/api/v1transactions/initialize'])(
  '%s is not below the base URL',
  async (path) => {
    expect((await start(path)).status).toBe(404);
    expect(service.requests).toMatchObject([{ operation: null, path }]);
  },
);

test('a connection that breaks is a response of type error', async () => {
  service.faults.add('initialize', { kind: 'reset' }, 1);
  expect((await start()).type).toBe('error');
});

test('a request that hangs ends when its caller is gone', async () => {
  const caller = new AbortController();
  service.faults.add('initialize', { kind: 'hang' }, 1);
  const answer = start(undefined, undefined, caller.signal);
  await vi.waitUntil(() => service.requests.length === 1);
  caller.abort();
  expect((await answer).type).toBe('error');
});

test('a dribble ends with the body, or when its caller is gone', async () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  service.faults.add('initialize', { kind: 'slowBody' }, 2);
  const whole = (await start()).text();
  await vi.advanceTimersByTimeAsync(100 * 1_000);
  expect(JSON.parse(await whole)).toMatchObject({ data: { reference: 'TXN-000001' } });
  expect(vi.getTimerCount()).toBe(0);

  const caller = new AbortController();
  const cut = (await start(undefined, undefined, caller.signal)).text();
  await vi.advanceTimersByTimeAsync(500);
  expect(vi.getTimerCount()).toBe(1);
  caller.abort();
  await expect(cut).rejects.toThrow();
  expect(vi.getTimerCount()).toBe(0);
});
