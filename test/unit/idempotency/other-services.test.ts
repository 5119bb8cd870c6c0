/** A key and an order belong to the service and the mode that they were first used with. */

import { expect, test } from 'vitest';
import { ConfigurationError, type PaymentsClientOptions } from '../../../src/index.ts';
import { charged, KEY, keyed, posts as operations } from '../../helpers/keyed-calls.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError, successBodies } from '../../helpers/service.ts';
import { BASE_URL, momo, page, type Respond, SECOND, slow, world } from '../../helpers/world.ts';

const TEST_KEY = 'sk_test_4vK9qLm2Xw7RtZ';
const LIVE_KEY = 'sk_live_4vK9qLm2Xw7RtZ';

/** Whatever the API key is, each payment has a reference of its own. */
function acceptAll(): Respond {
  let count = 0;
  return ({ method, url }) => {
    const reference = `TXN-${++count}`;
    if (method === 'GET') return Response.json(successBodies.verify({ reference }));
    if (!url.endsWith('initialize')) return Response.json(successBodies.chargeMobileMoney({ reference }));
    const checkout_url = `https://pay.example/checkout/${reference}`;
    return Response.json(successBodies.initialize({ reference, checkout_url }));
  };
}

const others: [what: string, own: PaymentsClientOptions, other: PaymentsClientOptions][] = [
  ['another base URL', {}, { baseUrl: 'https://other.example/api/v1' }],
  ['live mode', { apiKey: TEST_KEY }, { apiKey: LIVE_KEY }],
  ['live mode by a function', { apiKey: TEST_KEY }, { apiKey: () => LIVE_KEY }],
  ['test mode', { apiKey: LIVE_KEY }, { apiKey: TEST_KEY }],
];

test.for(others)('a key is refused by a client of %s, and nothing changes', async ([, own, other]) => {
  const { shop, start, journal, requests } = world({ respond: acceptAll(), client: own });
  const { payments } = start({ client: other });
  await charged(shop.payments);
  const before = await journal.read(KEY);
  for (const operation of operations) {
    const failure = await catchError(keyed[operation](payments));
    expect(failure).toBeInstanceOf(ConfigurationError);
    expect(failure).toMatchObject({ operation, outcome: 'not_sent', retryable: false });
    expect(String(failure)).toContain('of another base URL or mode (test or live)');
    expect(Object(failure).message.length).toBeLessThanOrEqual(200);
  }
  for (const resolution of ['not_charged', 'closed', { reference: 'TXN-1' }] as const)
    expect(await catchError(payments.resolve(KEY, resolution, note))).toMatchObject({
      ...{ name: 'ConfigurationError', outcome: null },
    });
  expect(await journal.read(KEY)).toEqual(before);
  expect(requests).toHaveLength(1);
  // A key of its own is its own.
  expect(await charged(payments, { idempotencyKey: 'order-18' })).toMatchObject({ replayed: false });
});

test.for(others)('an order is refused by a client of %s before it is checked', async ([, own, other]) => {
  const { shop, start, journal, requests } = world({ respond: acceptAll(), client: own });
  const { orders } = start({ client: other });
  await shop.orders.charge('17', momo);
  const before = await journal.read('17/1');
  const sent = requests.length;
  const calls = [
    orders.charge('17', momo),
    orders.charge('17', { ...momo, amount: 'wrong' }),
    orders.charge('17', momo, { startAnother: true }),
    orders.checkout('17', page),
    orders.read('17'),
    orders.wait('17', { timeout: 1 }),
  ];
  for (const failure of await Promise.all(calls.map(catchError)))
    expect(failure).toBeInstanceOf(ConfigurationError);
  expect(requests).toHaveLength(sent);
  expect(await journal.read('17/1')).toEqual(before);
});

test.for<[string, PaymentsClientOptions]>([
  ['a rotated API key', { apiKey: `${TEST_KEY}2` }],
  ['a rotated API key of a function', { apiKey: () => `${TEST_KEY}3` }],
  ['a slash at the end of its base URL', { baseUrl: `${BASE_URL}//` }],
  ['a base URL in upper case', { baseUrl: BASE_URL.replace('https://payments', 'HTTPS://PAYMENTS') }],
])('a client with %s is of the same service', async ([, other]) => {
  const { shop, start } = world({ respond: acceptAll() });
  await charged(shop.payments);
  expect(await charged(start({ client: other }).payments)).toMatchObject({ replayed: true });
});

test('a service is shown by a digest that all its keys have', async () => {
  const { shop, journal } = world();
  await charged(shop.payments);
  await charged(shop.payments, { idempotencyKey: 'order-18' });
  const services = [await journal.read(KEY), await journal.read('order-18')].map((entry) => entry?.service);
  expect(services[0]).toMatch(/^[\da-f]{64}$/);
  expect(services[1]).toBe(services[0]);
});

test('an apiKey function is asked once for the claim and the first request', async () => {
  const keys = [TEST_KEY, LIVE_KEY];
  const sent: (string | null)[] = [];
  const { shop } = world({
    client: { apiKey: () => keys.shift() ?? LIVE_KEY },
    respond: ({ headers }) => {
      sent.push(headers.get('authorization'));
      return undefined;
    },
  });
  await charged(shop.payments);
  expect(sent).toEqual([`Bearer ${TEST_KEY}`]);
  expect(keys).toEqual([LIVE_KEY]);
});

test.for([
  ['after the wait for another call', true],
  ['before a retry', false],
])('an apiKey function must keep its mode %s', async ([, waits]) => {
  const keys = [TEST_KEY];
  const changing = { apiKey: () => keys.shift() ?? LIVE_KEY, maxRetries: 3 };
  const { shop, start, posts, journal } = world({
    respond: async (request, handle) => {
      await slow('POST', SECOND)(request, handle);
      return new Response('{}', { status: waits ? 422 : 429 });
    },
  });
  const first = waits ? catchError(charged(shop.payments)) : undefined;
  const failure = await catchError(charged(start({ client: changing }).payments));
  expect(failure).toBeInstanceOf(ConfigurationError);
  expect(failure).toMatchObject({ outcome: 'not_sent', operation: 'chargeMobileMoney' });
  expect(String(failure)).toContain('another mode');
  expect(Object(failure).message.length).toBeLessThanOrEqual(200);
  await first;
  expect(posts).toHaveLength(1);
  expect(await journal.read(KEY)).toMatchObject({ state: 'not_sent' });
});
