import { describe, expect, test, vi } from 'vitest';
import { OutcomeUnknownError } from '../../../src/index.ts';
import { sharedStore } from '../../helpers/journals.ts';
import { charged, KEY, keyed, replayOf } from '../../helpers/keyed-calls.ts';
import { note } from '../../helpers/resolution-note.ts';
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
  const service = await startService((response) =>
    sendJson(response, 200, successBodies.initialize({ checkout_url })),
  );
  const client = service.client({ journal: shared.journal() });
  const first = await keyed.initialize(client);
  return { shared, service, client, first };
};

describe('a checkout_url that', () => {
  test.each([
    'https://p.example/checkout/TXN-1',
    'https://p.example/@shop/checkout/TXN-1',
    'https://p.example/checkout/TXN-1?support=help@shop.com',
    'https://p.example/checkout/TXN-1?to=%40shop&support=help%40shop.com',
    'https://shop@p.example/checkout/TXN-1',
    'https://p.example/checkout/TXN-20261122001234567?order=0244123456',
  ])('has no customer in it is given again as it was: %s', async (address) => {
    const { service, client, first } = await started(address);
    expect(first.checkout_url).toBe(address);
    expect(await keyed.initialize(client)).toEqual(replayOf(first));
    expect(service.requests).toHaveLength(1);
  });

  test.each([
    ['has the email in it', `https://p.example/@shop/TXN-1?help=help@shop.com&email=${EMAIL}`],
    ['has it escaped', `https://p.example/@shop/TXN-1?help=help@shop.com&email=${encodeURIComponent(EMAIL)}`],
    ['has it in upper case', `https://p.example/@shop/TXN-1?help=help@shop.com#${EMAIL.toUpperCase()}`],
    ['has the key in it', `https://p.example/@shop/TXN-1?help=help@shop.com&key=${API_KEY}`],
    ['is not one without the email', `https://${EMAIL}/checkout/TXN-1`],
    ['is too long to store', `https://p.example/${'x'.repeat(20_000)}`],
  ])('%s is never replayed damaged: its key is unknown, until it is resolved', async (_what, address) => {
    const { shared, service, client, first } = await started(address);
    expect(first.checkout_url).toBe(address);
    const failure = await catchError(keyed.initialize(client));
    expect(failure).toBeInstanceOf(OutcomeUnknownError);
    expect(failure).toMatchObject({ reference: first.reference, idempotencyKey: KEY });
    expect(String(failure)).not.toContain('p.example');
    expectNoSecrets([...shared.writes, failure], { key: API_KEY, email: EMAIL });
    expect(service.requests).toHaveLength(1);
    const checkout_url = 'https://p.example/checkout/found';
    await shared.journal().resolve(KEY, { reference: first.reference, checkout_url }, note);
    expect(await keyed.initialize(client)).toMatchObject({ reference: first.reference, checkout_url });
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
    const service = await startService((response) =>
      sendJson(response, 200, { status: true, message, data }),
    );
    const client = service.client({ journal: shared.journal() });
    const first = await charged(client);
    const again = await charged(client);
    const { reference, status, amount, currency } = first;
    expect(again).toMatchObject({ reference, status, amount, currency });
    expect(again.message).toBe('');
    expectNoSecrets([...shared.writes, again], { key: API_KEY, phone: PHONE, email: EMAIL });
    expect(shared.records.get(KEY)?.text.length).toBeLessThan(20_000);
    expect(service.requests).toHaveLength(1);
  });

  test('keeps the short fields beside it', async () => {
    const shared = sharedStore();
    const body = successBodies.chargeMobileMoney({
      note: filler,
      processor: 'MP-1',
      fees: [{ amount: 0.5 }],
    });
    const service = await startService((response) => sendJson(response, 200, body));
    const client = service.client({ journal: shared.journal() });
    await charged(client);
    expect(await charged(client)).toMatchObject({
      note: '[too long to keep]',
      processor: 'MP-1',
      fees: [{ amount: 0.5 }],
    });
  });
});

test('returns the result if the runtime fails while it is stored', async () => {
  const shared = sharedStore();
  const service = await startService((response) => {
    vi.spyOn(String.prototype, 'matchAll').mockImplementation(() => {
      throw new RangeError('no memory');
    });
    sendJson(response, 200, successBodies.chargeMobileMoney());
  });
  const client = service.client({ journal: shared.journal() });
  const charge = await keyed.chargeMobileMoney(client);
  vi.restoreAllMocks();
  expect(shared.states(KEY)).toEqual(['begun', 'unknown']);
  expect(await catchError(keyed.chargeMobileMoney(client))).toMatchObject({
    code: 'outcome_unknown',
    reference: charge.reference,
  });
  expect(service.requests).toHaveLength(1);
});
