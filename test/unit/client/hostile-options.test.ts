import { expect, test, vi } from 'vitest';
import { ConfigurationError, InvalidInputError, PaymentsClient } from '../../../src/index.ts';
import { API_KEY, catchError, charge, successBodies } from '../../helpers/service.ts';

function shop() {
  const fetch = vi.fn(async () => Response.json(successBodies.chargeMobileMoney()));
  return {
    fetch,
    payments: new PaymentsClient({ apiKey: API_KEY, baseUrl: 'https://payments.example', fetch }),
  };
}

const real = new AbortController().signal;

test.each<[string, object]>([
  ['throwIfAborted alone', { throwIfAborted() {} }],
  ['no removeEventListener', { aborted: false, throwIfAborted() {}, addEventListener() {} }],
  ['no aborted', { throwIfAborted() {}, addEventListener() {}, removeEventListener() {} }],
])('refuses a signal with %s, and sends nothing', async (_, signal) => {
  const { fetch, payments } = shop();
  const failure = await catchError(payments.chargeMobileMoney(charge, Object({ signal })));
  expect(failure).toBeInstanceOf(ConfigurationError);
  expect(failure).toMatchObject({ outcome: 'not_sent', operation: 'chargeMobileMoney' });
  expect(fetch).not.toHaveBeenCalled();
});

test('refuses inherited options: only some of them would be read', async () => {
  class Options {
    get signal() {
      return AbortSignal.abort();
    }
  }
  const { fetch, payments } = shop();
  for (const options of [new Options(), Object.create({ signal: AbortSignal.abort() })]) {
    expect(await catchError(payments.chargeMobileMoney(charge, options))).toBeInstanceOf(ConfigurationError);
  }
  expect(() => new PaymentsClient(Object.create({ apiKey: API_KEY }))).toThrow(ConfigurationError);
  expect(fetch).not.toHaveBeenCalled();
  const bare = Object.assign(Object.create(null), { signal: real });
  await payments.chargeMobileMoney(charge, bare);
  expect(fetch).toHaveBeenCalledTimes(1);
});

test('refuses an extraBody that replaces the checked body', async () => {
  const { fetch, payments } = shop();
  const toJSON = () => ({ amount: 999 });
  const failure = await catchError(payments.chargeMobileMoney(charge, { extraBody: { toJSON } }));
  expect(failure).toBeInstanceOf(InvalidInputError);
  expect(failure).toMatchObject({ issues: [{ path: 'extraBody.toJSON' }] });

  // It returns another value each time.
  let reads = 0;
  const shifting = new Proxy(
    {},
    {
      get: () => 'USD',
      ownKeys: () => (reads++ === 0 ? [] : ['currency']),
      getOwnPropertyDescriptor: () => ({ value: 'USD', enumerable: true, configurable: true }),
    },
  );
  await payments.chargeMobileMoney(charge, { extraBody: shifting }).catch(() => {});
  expect(fetch).toHaveBeenCalledTimes(1);
  for (const [, init] of fetch.mock.calls.map((call): unknown[] => call)) {
    expect(JSON.stringify(init)).not.toContain('USD');
  }
});

test('shortens a message about unknown fields, and keeps it one line', async () => {
  const { payments } = shop();
  const forged = 'x\nERROR paid by ama@example.com 0244123456';
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`field-${index}`, 1]));
  const failure = await catchError(payments.chargeMobileMoney(Object({ [forged]: 1, ...many, ...charge })));
  expect(failure).toBeInstanceOf(InvalidInputError);
  const { message } = Object(failure);
  expect(message).not.toMatch(/\n|ama@example\.com|0244123456/);
  expect(message).toContain('more fields');
  expect(message.length).toBeLessThan(5_000);
});
