import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { PaymentsEvent } from '../../../src/index.ts';
import { sharedStore, sqliteFile } from '../../helpers/journals.ts';
import { KEY } from '../../helpers/keyed-calls.ts';
import { expectNoSecrets } from '../../helpers/secrets.ts';
import {
  API_KEY,
  answers,
  charge,
  EMAIL,
  failureOf,
  json,
  PHONE,
  payment,
  startService,
} from '../../helpers/service.ts';

const secrets = { key: API_KEY, phone: PHONE, email: EMAIL };
const LIVE_KEY = 'sk_live_9fJ2kLm4Qw7RtZ';

/** Everything in it that a service knows of the customer and of the call, in one dress or another. */
const echoes: [string, object][] = [
  ['as it is', { customer_email: EMAIL, phone: PHONE, key: API_KEY }],
  [
    'in lists and objects',
    { customer: { contacts: [{ to: EMAIL }, [PHONE, { header: `Bearer ${API_KEY}` }]] } },
  ],
  ['in the names of fields', { [EMAIL]: 1, [`tel:${PHONE}`]: 2, [API_KEY]: 3 }],
  ['as a number', { payer: 244_123_456, msisdn: 233_244_123_456 }],
  ['in international form', { payer: '+233244123456', other: '233-24-412-3456', third: '(0)24.412.3456' }],
  ['escaped', { href: `https://x.example/?e=${encodeURIComponent(EMAIL)}&p=${encodeURIComponent(PHONE)}` }],
  ['in HTML', { html: `<a href="mailto:${EMAIL.replace('@', '&#64;')}">${PHONE}</a>` }],
  ['in upper case', { note: EMAIL.toUpperCase() }],
  ['in JSON inside text', { raw: JSON.stringify(JSON.stringify({ e: EMAIL, p: PHONE, k: API_KEY })) }],
  ['in another checkout_url', { checkout_url: { page: `https://x.example/${EMAIL}` } }],
  ['deep down', { a: { b: { c: { d: { e: { f: { g: { h: { i: EMAIL } } } } } } } } }],
];

const message = `Prompt sent to ${PHONE} of ${EMAIL} for ${API_KEY}.`;

describe.each(echoes)('a service that repeats customer and key %s', (_how, extra) => {
  test('in the answer to a charge: nothing of them is stored or given again', async () => {
    const shared = sharedStore();
    const { checkout_url: _, ...rest } = answers.initialize().data;
    const data = { ...rest, status: 'processing', ...extra };
    const service = await startService((response) => json(response, 200, { status: true, message, data }));
    const client = service.client({ journal: shared.journal() });
    await client.chargeMobileMoney(charge, { idempotencyKey: KEY });
    const again = await client.chargeMobileMoney(charge, { idempotencyKey: KEY });
    expect(again).toMatchObject({ reference: 'TXN-8f2c61d0', status: 'processing', amount: '25.50' });
    expect(again.message).toBe('');
    expectNoSecrets([...shared.writes, again], secrets);
  });

  test('in the answer to initialize: nothing of them is stored', async () => {
    const shared = sharedStore();
    const { checkout_url: _, ...rest } = { checkout_url: '', ...extra };
    const answer = answers.initialize({ ...rest, status: EMAIL, message });
    const service = await startService((response) => json(response, 200, answer));
    const client = service.client({ journal: shared.journal() });
    await client.initialize(payment, { idempotencyKey: KEY });
    // Of a payment by checkout page the client knows no phone number.
    expectNoSecrets(shared.writes, { key: API_KEY, email: EMAIL });
    const again = await client.initialize(payment, { idempotencyKey: KEY });
    expect(again).toMatchObject({ checkout_url: 'https://pay.example/checkout/TXN-8f2c61d0' });
  });
});

test('a status that SPEC.md does not show, with all of it inside, is stored without', async () => {
  const shared = sharedStore();
  const answer = answers.chargeMobileMoney({ status: `sent to ${PHONE}, ${EMAIL}, ${API_KEY}` });
  const service = await startService((response) => json(response, 200, answer));
  const client = service.client({ journal: shared.journal() });
  await client.chargeMobileMoney(charge, { idempotencyKey: KEY });
  const again = await client.chargeMobileMoney(charge, { idempotencyKey: KEY });
  expect(again).toMatchObject({ status: 'unrecognised', raw_status: expect.stringContaining('[REDACTED]') });
  expectNoSecrets([...shared.writes, again], secrets);
});

test('a checkout page whose address has the email in it is not stored', async () => {
  const shared = sharedStore();
  const page = 'https://pay.example/checkout/TXN-8f2c61d0';
  const answer = answers.initialize({ checkout_url: `${page}?email=${encodeURIComponent(EMAIL)}` });
  const service = await startService((response) => json(response, 200, answer));
  const client = service.client({ journal: shared.journal() });
  await client.initialize(payment, { idempotencyKey: KEY });
  const again = await failureOf(client.initialize(payment, { idempotencyKey: KEY }));
  expect(again).toMatchObject({ code: 'outcome_unknown', reference: 'TXN-8f2c61d0' });
  expectNoSecrets([...shared.writes, again], { key: API_KEY, email: EMAIL });
});

const ends: [string, number, unknown][] = [
  ['completed', 200, answers.chargeMobileMoney({ customer_email: EMAIL })],
  ['rejected', 422, { message, errors: [{ field: 'phone', message: PHONE }] }],
  ['unknown', 500, { message, key: API_KEY }],
  ['unknown, with a reference', 200, { status: true, message, data: { reference: 'TXN-1', to: EMAIL } }],
];

test.each(ends)(
  'a SQLite file of a charge that is %s holds nothing of customer or key',
  async (_state, status, body) => {
    const file = sqliteFile();
    const service = await startService((response) => json(response, status, body));
    const apiKey = () => LIVE_KEY;
    const extraBody = { receipt_to: EMAIL, token: LIVE_KEY };
    const client = service.client({ journal: file.journal(), apiKey });
    await client.chargeMobileMoney(charge, { idempotencyKey: KEY, extraBody }).catch(() => {});
    file.connect().exec('PRAGMA wal_checkpoint(TRUNCATE)');
    const bytes = readFileSync(file.path, 'latin1');
    expect(bytes).toContain(KEY);
    expectNoSecrets(bytes, { ...secrets, key: LIVE_KEY });
    expect(bytes.replace(/\D/g, '')).not.toContain('244123456');
  },
);

test('equal input under two keys cannot be told to be equal by what is stored', async () => {
  const shared = sharedStore();
  const service = await startService((response) => json(response, 200, answers.chargeMobileMoney()));
  const client = service.client({ journal: shared.journal() });
  for (const idempotencyKey of ['order-1', 'order-2'])
    await client.chargeMobileMoney(charge, { idempotencyKey });
  const [one, two] = ['order-1', 'order-2'].map((key) => JSON.parse(shared.records.get(key)?.text ?? '{}'));
  expect(one.fingerprint).toMatch(/^[\da-f]{64}$/);
  expect(one.fingerprint).not.toBe(two.fingerprint);
});

test('neither events, log lines nor errors of a key show customer or API key, also where the key itself does', async () => {
  const told: unknown[] = [];
  const note = (line: string) => told.push(line);
  const shared = sharedStore();
  const service = await startService((response, _request, count) =>
    json(response, count === 1 ? 500 : 200, count === 1 ? { message } : answers.chargeMobileMoney()),
  );
  const client = service.client({
    journal: shared.journal(),
    onEvent: (event: PaymentsEvent) => told.push(event),
    logger: { debug: note, info: note, warn: note, error: note },
  });
  const idempotencyKey = `order of ${EMAIL}, ${PHONE}`;
  const charged = (input = charge) =>
    client.chargeMobileMoney(input, { idempotencyKey }).catch((error: unknown) => told.push(error));
  await charged();
  await charged();
  await client
    .chargeMobileMoney({ ...charge, amount: 30 }, { idempotencyKey })
    .catch((error) => told.push(error));
  expect(told.length).toBeGreaterThan(6);
  for (const one of told) expectNoSecrets(one, secrets);
});
