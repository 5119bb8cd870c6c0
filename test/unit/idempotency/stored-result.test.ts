import { describe, expect, test, vi } from 'vitest';
import { OutcomeUnknownError } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { sharedStore } from '../../helpers/journals.ts';
import { charged, KEY, keyed, posts, replayOf } from '../../helpers/keyed-calls.ts';
import { expectNoSecrets } from '../../helpers/secrets.ts';
import {
  API_KEY,
  catchError,
  EMAIL,
  PHONE,
  sendJson,
  startService,
  successBodies,
} from '../../helpers/service.ts';

const started = async (checkout_url: string) => {
  const shared = sharedStore();
  const service = await startService(200, successBodies.initialize({ checkout_url }));
  const client = service.client({ journal: shared.journal() });
  const first = await keyed.initialize(client);
  return { shared, service, client, first };
};

describe('a checkout_url that', () => {
  test.each([
    `https://p.example/checkout/${REFERENCE}`,
    `https://p.example/@shop/checkout/${REFERENCE}`,
    `https://p.example/checkout/${REFERENCE}?support=help@shop.com`,
    `https://p.example/checkout/${REFERENCE}?to=%40shop&support=help%40shop.com`,
    `https://shop@p.example/checkout/${REFERENCE}`,
    `https://p.example/checkout/20261122001234567/${REFERENCE}?order=0244123456`,
  ])('has no customer in it is given again as it was: %s', async (address) => {
    const { service, client, first } = await started(address);
    expect(first.checkout_url).toBe(address);
    expect(await keyed.initialize(client)).toEqual(replayOf(first));
    expect(service.requests).toHaveLength(1);
  });

  test.each([
    ['has the email in it', `https://p.example/@shop/${REFERENCE}?help=help@shop.com&email=${EMAIL}`],
    [
      'has it escaped',
      `https://p.example/@shop/${REFERENCE}?help=help@shop.com&email=${encodeURIComponent(EMAIL)}`,
    ],
    [
      'has it in upper case',
      `https://p.example/@shop/${REFERENCE}?help=help@shop.com#${EMAIL.toUpperCase()}`,
    ],
    ['has the key in it', `https://p.example/@shop/${REFERENCE}?help=help@shop.com&key=${API_KEY}`],
    ['is not one without the email', `https://${EMAIL}/checkout/${REFERENCE}`],
    ['is too long to store', `https://p.example/${'x'.repeat(20_000)}/${REFERENCE}`],
  ])('%s is never replayed damaged, and nothing is sent', async (_what, address) => {
    const { shared, service, client, first } = await started(address);
    expect(first.checkout_url).toBe(address);
    const failure = await catchError(keyed.initialize(client));
    expect(failure).toBeInstanceOf(OutcomeUnknownError);
    expect(failure).toMatchObject({ reference: first.reference, idempotencyKey: KEY });
    expect(String(failure)).not.toContain('p.example');
    expectNoSecrets([...shared.writes, failure], { key: API_KEY, email: EMAIL });
    expect(await shared.journal().read(KEY)).toMatchObject({
      state: 'completed',
      reference: first.reference,
    });
    expect(service.requests).toHaveLength(1);
  });
});

describe('a long response', () => {
  const filler = 'x'.repeat(100_000);
  const lengthy: [string, object, string][] = [
    ['a long message', {}, `${filler} ${EMAIL}`],
    ['a long field', { note: `${filler} ${PHONE}` }, 'ok'],
    ['a long status', { status: `${filler} ${EMAIL}` }, 'ok'],
    ['a long name', { [`${filler} ${EMAIL}`]: 1 }, 'ok'],
    ['many fields', Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`to ${at}`, EMAIL])), 'ok'],
    ['many items', { list: Array.from({ length: 20_000 }, () => [PHONE]) }, 'ok'],
    ['many numbers', { list: Array.from({ length: 100_000 }, () => 0) }, 'ok'],
    ['an email where the limit is', { one: 'x'.repeat(16_000), to: `${'.'.repeat(360)}${EMAIL}` }, 'ok'],
  ];

  test.each(lengthy)('%s', async (_what, extra, message) => {
    const shared = sharedStore();
    const data = { ...extra, ...successBodies.chargeMobileMoney(extra).data };
    const service = await startService(200, { status: true, message, data });
    const client = service.client({ journal: shared.journal() });
    const first = await charged(client);
    const again = await charged(client);
    const { reference, status, amount, currency } = first;
    expect(again).toMatchObject({ reference, status, amount, currency });
    expect(again.message).toBe('');
    expectNoSecrets([...shared.writes, again], { key: API_KEY, phone: PHONE, email: EMAIL });
    expect(shared.records.get(`key ${KEY}`)?.text.length).toBeLessThan(20_000);
    expect(service.requests).toHaveLength(1);
  });
});

test.each(posts)('stores of a result of %s the documented fields only', async (operation) => {
  const shared = sharedStore();
  const customer = { name: 'Ama Serwaa', address: { street: '4 Ring Road' }, ghana_card: 'GHA-725184923-1' };
  const extra = { customer, ip_address: '41.66.208.9', birth_date: '1990-04-12', fees: [{ amount: 0.5 }] };
  const service = await startService(200, successBodies[operation](extra));
  const client = service.client({ journal: shared.journal() });
  const first = await keyed[operation](client);
  expect(first).toMatchObject(extra);
  const again = await keyed[operation](client);
  expect(again).toEqual(replayOf(first));
  for (const name of Object.keys(extra)) expect(again).not.toHaveProperty(name);
  const written = JSON.stringify([...shared.writes]);
  for (const text of ['Ama Serwaa', 'Ring Road', 'GHA-', '41.66', '1990-04', 'fees'])
    expect(written).not.toContain(text);
});

test.each([
  ['sent to Ama Serwaa, 4 Ring Road', 'unrecognised'],
  ['Amá', 'unrecognised'],
  ['on_hold\n', 'unrecognised'],
  ['', 'unrecognised'],
  ['x'.repeat(41), 'unrecognised'],
  [PHONE.replaceAll(/\D/g, ''), 'unrecognised'],
  ['x'.repeat(40), 'x'.repeat(40)],
  ['ON-HOLD_2', 'ON-HOLD_2'],
])('stores the status %j, which is not documented, as %j', async (status, stored) => {
  const shared = sharedStore();
  const service = await startService(200, successBodies.chargeMobileMoney({ status }));
  const client = service.client({ journal: shared.journal() });
  expect(await charged(client)).toMatchObject({ status: 'unrecognised', raw_status: status });
  expect(await charged(client)).toMatchObject({ status: 'unrecognised', raw_status: stored, replayed: true });
  if (stored !== status && status !== '') expect(JSON.stringify(shared.writes)).not.toContain(status);
});

test('returns the result if the runtime fails while it is stored', async () => {
  const shared = sharedStore();
  const service = await startService((response) => {
    vi.spyOn(String.prototype, 'matchAll').mockImplementation(() => {
      throw new RangeError('no memory');
    });
    sendJson(response, 200, successBodies.initialize());
  });
  const client = service.client({ journal: shared.journal() });
  const payment = await keyed.initialize(client);
  vi.restoreAllMocks();
  expect(shared.states(KEY)).toEqual(['begun', 'completed']);
  expect(await catchError(keyed.initialize(client))).toMatchObject({
    code: 'outcome_unknown',
    reference: payment.reference,
  });
  expect(service.requests).toHaveLength(1);
});
