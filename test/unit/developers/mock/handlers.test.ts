import { HttpResponse, http } from 'msw';
import { expect, test } from 'vitest';
import { createHandlers } from '../../../../src/developers/mock/handlers.ts';
import { createMockPayments } from '../../../../src/developers/mock/index.ts';
import { ConfigurationError } from '../../../../src/index.ts';
import { connect, intercept, payment, startListening, startMock } from './start-mock.ts';

test("work beside a merchant's own handlers", async () => {
  const { mock, payments } = connect(createMockPayments());
  intercept(
    http.get('https://payments.example/about', () => HttpResponse.text('not of the API')),
    ...mock.handlers,
    http.get('https://shop.example/stock', () => HttpResponse.json({ left: 3 })),
  );
  await payments.initialize(payment);
  expect(await (await fetch('https://shop.example/stock')).json()).toEqual({ left: 3 });
  expect(await (await fetch('https://payments.example/about')).text()).toBe('not of the API');
  expect(mock.requests).toHaveLength(1);
});

test.each([
  ['https://pay.example.com/collect/api/v1', 'https://pay.example.com/collect/api/v1'],
  ['https://payments.example/api/v1/', 'https://payments.example/api/v1'],
  ['HTTPS://Payments.Example:443/api/v1', 'https://payments.example/api/v1'],
  ['http://127.0.0.1:4010/api/v1', 'http://127.0.0.1:4010/api/v1'],
  ['http://[::1]:4010/api/v1', 'http://[::1]:4010/api/v1'],
  ['https://payments.example', 'https://payments.example'],
])('handle requests below %s', async (given, baseUrl) => {
  const { mock, payments } = startMock({ baseUrl: given });
  expect(mock.baseUrl).toBe(baseUrl);
  const { checkout_url, reference } = await payments.initialize(payment);
  expect(checkout_url).toBe(`${new URL(baseUrl).origin}/checkout/${reference}`);
  expect((await payments.verify(reference)).status).toBe('pending');
});

test.each([
  ['behind MSW', startMock],
  ['that listens', startListening],
])('a mock %s responds with 404 on its host outside of the base URL', async (_, start) => {
  const { mock } = start();
  for (const path of ['/api/v2/transactions/initialize', '/api/v12/transactions/initialize', '/', '']) {
    const response = await fetch(`https://payments.example${path}`, { method: 'POST', body: 'phone' });
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({
      status: false,
      message: 'The mock only responds below https://payments.example/api/v1. Nothing was sent.',
    });
  }
  expect(mock.requests).toEqual([]);
});

test.each(['https://paymentsXexample/api/v1', 'https://payments.example:8443/api/v1'])(
  'leave the host of %s alone',
  async (address) => {
    const { mock } = startMock();
    await expect(fetch(`${address}/transactions/initialize`)).rejects.toThrow();
    expect(mock.requests).toEqual([]);
  },
);

test('never send a request to the real address, without a response too', async () => {
  const responses = { missing: Promise.resolve(Response.json({})) };
  Reflect.deleteProperty(responses, 'missing');
  intercept(
    ...createHandlers({ baseUrl: 'https://payments.example', respondTo: () => responses.missing }),
    http.all('*', () => HttpResponse.text('the real address')),
  );
  await expect(fetch('https://payments.example/transactions/initialize')).rejects.toThrow();
});

test.each<[object, string]>([
  [{ baseUrl: 'payments.example' }, 'baseUrl must be an http or https address'],
  [{ apiKey: '' }, 'apiKey must be text, and not empty.'],
  [{ testKey: 'mock-live-key' }, 'testKey must begin with sk_test_.'],
  [{ testKey: 'sk_test_' }, 'testKey must begin with sk_test_.'],
  [{ allowTestCharges: 1 }, 'allowTestCharges must be true or false.'],
  [{ apikey: 'sk_test_mock' }, 'Unknown option "apikey". Did you mean apiKey?'],
])('are refused with the options %j', (options, message) => {
  const create = () => Reflect.apply(createMockPayments, undefined, [options]);
  expect(create).toThrow(ConfigurationError);
  expect(create).toThrow(message);
});
