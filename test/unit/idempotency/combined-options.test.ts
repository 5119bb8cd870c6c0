import { expect, test } from 'vitest';
import type { CreateOptions, PaymentsEvent } from '../../../src/index.ts';
import { charged, KEY } from '../../helpers/keyed-calls.ts';
import { listKeys } from '../../helpers/listed-keys.ts';
import { momo, type ProcessOptions, page, world } from '../../helpers/world.ts';

/** Makes calls, and returns all that can be seen of them but what differs between two equal requests. */
async function observe({
  options,
  client = {},
}: { options: CreateOptions } & Pick<ProcessOptions, 'client'>) {
  const events: PaymentsEvent[] = [];
  const requests: object[] = [];
  const { shop, journal } = world({
    client: { headers: { 'x-request-id': 'req-7' }, onEvent: (event) => events.push(event), ...client },
    respond: async (request) => {
      requests.push({ url: request.url, headers: [...request.headers], body: await request.clone().text() });
      return undefined;
    },
  });
  const results = [
    await shop.payments.chargeMobileMoney(momo, options),
    await shop.payments.initialize(page, { idempotencyKey: null }),
    await shop.payments.initialize(page),
  ];
  const keys = await listKeys(journal);
  return { results, requests, events: events.map((event) => ({ ...event, duration: 0 })), keys };
}

test('calls without a key are as without a journal, and record nothing', async () => {
  const options = { idempotencyKey: null };
  const withJournal = await observe({ options });
  expect(withJournal).toEqual(await observe({ options, client: { journal: undefined } }));
  expect(withJournal).toMatchObject({ requests: { length: 3 }, keys: [] });
});

test('a new key changes no request, result or event', async () => {
  const { keys, ...keyed } = await observe({ options: { idempotencyKey: KEY } });
  const { keys: none, ...unkeyed } = await observe({ options: { idempotencyKey: null } });
  expect(keyed).toEqual(unkeyed);
  expect([keys, none]).toEqual([[KEY], []]);
});

test('sends headers and extra fields with a key, but not the key', async () => {
  const sent: { headers: Headers; body: string }[] = [];
  const { shop } = world({
    client: { headers: { 'x-shop': 'accra' } },
    respond: async (request) => {
      sent.push({ headers: request.headers, body: await request.clone().text() });
      return undefined;
    },
  });
  const extraBody = { callback_url: 'https://shop.example' };
  await charged(shop.payments, { headers: { 'x-trace': '7' }, extraBody });
  const [request] = sent;
  expect([...(request?.headers ?? [])]).toEqual(
    expect.arrayContaining([
      ['x-shop', 'accra'],
      ['x-trace', '7'],
    ]),
  );
  expect(JSON.parse(request?.body ?? '')).toEqual({ ...momo, amount: 25.5, ...extraBody });
  expect(JSON.stringify([...(request?.headers ?? [])]) + request?.body).not.toContain(KEY);
});
