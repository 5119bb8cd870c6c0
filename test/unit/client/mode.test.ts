import { expect, test, vi } from 'vitest';
import { ConfigurationError, PaymentsClient, type PaymentsClientOptions } from '../../../src/index.ts';
import { memoryJournal } from '../../../src/stores/index.ts';
import { catchError, charge, payment, startService } from '../../helpers/service.ts';

const TEST_KEY = 'sk_test_4vK9qLm2Xw7RtZ';
const LIVE_KEY = 'sk_live_4vK9qLm2Xw7RtZ';

const wrong = [
  ['live', TEST_KEY],
  ['test', LIVE_KEY],
  ['test', 'a-key-of-another-shape-4vK9'],
] as const;
const right = [
  ['live', LIVE_KEY],
  ['live', 'a-key-of-another-shape-4vK9'],
  ['test', TEST_KEY],
  [undefined, TEST_KEY],
  [undefined, LIVE_KEY],
] as const;

test.each(wrong)('mode %s refuses the key %s at construction', (mode, apiKey) => {
  const make = () => new PaymentsClient({ apiKey, baseUrl: 'https://payments.example', mode });
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(`mode is '${mode}'`);
  expect(make).not.toThrow(apiKey);
});

test('mode refuses a key of the environment', () => {
  vi.stubEnv('PAYMENTS_API_KEY', TEST_KEY);
  const make = () => new PaymentsClient({ baseUrl: 'https://payments.example', mode: 'live' });
  expect(make).toThrow("mode is 'live'");
  vi.unstubAllEnvs();
});

test.each(wrong)('mode %s refuses %s of a function, and sends nothing', async (mode, key) => {
  const service = await startService();
  for (const journal of [undefined, memoryJournal()]) {
    const client = service.client({ apiKey: async () => key, mode, journal });
    const calls = [
      client.initialize(payment),
      client.chargeMobileMoney(charge, { idempotencyKey: journal ? 'order-17' : null }),
      client.verify('TXN-8f2c61d0'),
    ];
    for (const failure of await Promise.all(calls.map(catchError))) {
      expect(failure).toBeInstanceOf(ConfigurationError);
      expect(String(failure)).toContain(`mode is '${mode}'`);
      expect(String(failure)).not.toContain(key);
    }
    expect(await journal?.read('order-17')).toBeFalsy();
  }
  expect(service.requests).toEqual([]);
});

test('mode refuses a function that changes to the other mode', async () => {
  const service = await startService();
  const keys = [LIVE_KEY, TEST_KEY];
  const client = service.client({ apiKey: () => keys.shift() ?? '', mode: 'live' });
  await client.initialize(payment);
  expect(await catchError(client.initialize(payment))).toBeInstanceOf(ConfigurationError);
  expect(service.requests).toHaveLength(1);
});

test.each(right)('mode %s accepts the key %s', async (mode, key) => {
  const service = await startService();
  for (const apiKey of [key, () => key]) await service.client({ apiKey, mode }).initialize(payment);
  expect(service.requests).toHaveLength(2);
});

test.each(['Live', 'unknown', '', null, true, 1])('refuses the mode %j', (mode) => {
  const options: object = { apiKey: TEST_KEY, baseUrl: 'https://payments.example', mode };
  const untyped: PaymentsClientOptions = options;
  expect(() => new PaymentsClient(untyped)).toThrow("mode must be 'live' or 'test'");
});
