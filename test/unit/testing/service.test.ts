import { beforeEach, expect, test, vi } from 'vitest';
import { PaymentService } from '../../../src/testing/service.ts';
import { payment, useFakeClock } from './start-mock.ts';

const origin = 'https://payments.example';
let service: PaymentService;

beforeEach(() => {
  service = new PaymentService({
    baseUrl: `${origin}/api/v1`,
    checkoutBase: 'https://pay.example',
    apiKeys: ['sk_test_one', 'sk_live_two'],
    allowTestCharges: false,
  });
});

function post(path = '/api/v1/transactions/initialize', key = 'sk_test_one', signal?: AbortSignal) {
  return service.handle(
    new Request(origin + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...payment, amount: 25.5, phone: '024 412 3456', network: 'mtn' }),
      ...(signal ? { signal } : {}),
    }),
  );
}

test('handles a request without MSW', async () => {
  const response = await post();
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({
    status: true,
    data: { checkout_url: 'https://pay.example/checkout/TXN-000001' },
  });
});

test.each(['/transactions/initialize', '/api/v2/transactions/initialize', '/api/v1transactions/initialize'])(
  'responds with 404 to %s, which is not below the base URL',
  async (path) => {
    expect((await post(path)).status).toBe(404);
    expect(service.exchanges).toMatchObject([{ request: { operation: null, path } }]);
  },
);

test('returns a response of type error for a broken connection', async () => {
  service.orderFault('initialize', { kind: 'reset' }, 1);
  expect((await post()).type).toBe('error');
});

test('ends a hanging request when its client disconnects', async () => {
  const client = new AbortController();
  service.orderFault('initialize', { kind: 'hang' }, 1);
  const response = post(undefined, undefined, client.signal);
  await vi.waitUntil(() => service.exchanges.length === 1);
  client.abort();
  expect((await response).type).toBe('error');
});

test('ends a slow body after its last byte, or when its client disconnects', async () => {
  useFakeClock();
  service.orderFault('initialize', { kind: 'slowBody' }, 2);
  const complete = (await post()).text();
  await vi.advanceTimersByTimeAsync(100 * 1_000);
  expect(JSON.parse(await complete)).toMatchObject({ data: { reference: 'TXN-000001' } });
  expect(vi.getTimerCount()).toBe(0);

  const client = new AbortController();
  const cut = (await post(undefined, undefined, client.signal)).text();
  await vi.advanceTimersByTimeAsync(500);
  expect(vi.getTimerCount()).toBe(1);
  client.abort();
  await expect(cut).rejects.toThrow();
  expect(vi.getTimerCount()).toBe(0);
});
