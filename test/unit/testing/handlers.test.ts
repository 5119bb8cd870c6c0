import { HttpResponse, http } from 'msw';
import { expect, test } from 'vitest';
import { ConfigurationError, PaymentsClient } from '../../../src/index.ts';
import { createHandlers } from '../../../src/testing/handlers.ts';
import { createMockPayments } from '../../../src/testing/index.ts';
import { intercept, payment, startMock } from './start-mock.ts';

test("work beside a merchant's own handlers", async () => {
  const mock = createMockPayments();
  intercept(
    http.get('https://payments.example/about', () => HttpResponse.text('not of the API')),
    ...mock.handlers,
    http.get('https://shop.example/stock', () => HttpResponse.json({ left: 3 })),
  );
  const payments = new PaymentsClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
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

test('respond with 404 on the host outside of the base URL', async () => {
  const { mock } = startMock();
  const response = await fetch('https://payments.example/api/v12/transactions/initialize');
  expect(response.status).toBe(404);
  expect(await response.json()).toEqual({
    status: false,
    message: 'The mock only responds below https://payments.example/api/v1. Nothing was sent.',
  });
  await expect(fetch('https://paymentsXexample/api/v1/transactions/initialize')).rejects.toThrow();
  await expect(fetch('https://payments.example:8443/api/v1/transactions/initialize')).rejects.toThrow();
  expect(mock.requests).toEqual([]);
});

test('never send a request to the real address, without a response too', async () => {
  const responses = { missing: Promise.resolve(Response.json({})) };
  Reflect.deleteProperty(responses, 'missing');
  intercept(
    ...createHandlers({ baseUrl: 'https://payments.example', respond: () => responses.missing }),
    http.all('*', () => HttpResponse.text('the real address')),
  );
  await expect(fetch('https://payments.example/transactions/initialize')).rejects.toThrow();
});

test.each([
  [{ baseUrl: 'payments.example' }, 'baseUrl must be an http or https address'],
  [{ apiKey: '' }, 'apiKey must be text, and not empty.'],
  [{ allowTestCharges: 1 }, 'allowTestCharges must be true or false.'],
  [{ apikey: 'sk_test_mock' }, 'Unknown option "apikey". Did you mean apiKey?'],
])('are refused with the options %j', (options, message) => {
  const create = () => Reflect.apply(createMockPayments, undefined, [options]);
  expect(create).toThrow(ConfigurationError);
  expect(create).toThrow(message);
});
