import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { PaymentsEvent } from '../../../src/index.ts';
import { parseLedgerRecord } from '../../../src/ledger/record.ts';
import { createJournal } from '../../../src/stores/index.ts';
import { sharedStore, sqliteFile } from '../../helpers/journals.ts';
import { KEY } from '../../helpers/keyed-calls.ts';
import { note } from '../../helpers/resolution-note.ts';
import { expectNoSecrets } from '../../helpers/secrets.ts';
import {
  API_KEY,
  catchError,
  charge,
  EMAIL,
  PHONE,
  payment,
  sendJson,
  startService,
  successBodies,
} from '../../helpers/service.ts';

const secrets = { key: API_KEY, phone: PHONE, email: EMAIL };
const LIVE_KEY = 'sk_live_9fJ2kLm4Qw7RtZ';

/** Everything in it that a service knows of the customer and of the call, in one form or another. */
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

describe.each(echoes)('a service that echoes customer and key %s', (_how, extra) => {
  test('to a charge: stores and replays nothing of them', async () => {
    const shared = sharedStore();
    const { checkout_url: _, ...rest } = successBodies.initialize().data;
    const data = { ...rest, status: 'processing', ...extra };
    const service = await startService(200, { status: true, message, data });
    const client = service.client({ journal: shared.journal() });
    await client.chargeMobileMoney(charge, { idempotencyKey: KEY });
    const again = await client.chargeMobileMoney(charge, { idempotencyKey: KEY });
    expect(again).toMatchObject({ reference: 'TXN-8f2c61d0', status: 'processing', amount: '25.50' });
    expect(again.message).toBe('');
    expectNoSecrets([...shared.writes, again], secrets);
  });

  test('to initialize: stores nothing of them', async () => {
    const shared = sharedStore();
    const { checkout_url: _, ...rest } = { checkout_url: '', ...extra };
    const body = successBodies.initialize({ ...rest, status: EMAIL, message });
    const service = await startService(200, body);
    const client = service.client({ journal: shared.journal() });
    await client.initialize(payment, { idempotencyKey: KEY });
    // Of a payment by checkout page the client knows no phone number.
    expectNoSecrets(shared.writes, { key: API_KEY, email: EMAIL });
    const again = await client.initialize(payment, { idempotencyKey: KEY });
    expect(again).toMatchObject({ checkout_url: 'https://pay.example/checkout/TXN-8f2c61d0' });
  });
});

test('stores nothing of an undocumented status with secrets in it', async () => {
  const shared = sharedStore();
  const body = successBodies.chargeMobileMoney({ status: `sent to ${PHONE}, ${EMAIL}, ${API_KEY}` });
  const service = await startService(200, body);
  const client = service.client({ journal: shared.journal() });
  await client.chargeMobileMoney(charge, { idempotencyKey: KEY });
  const again = await client.chargeMobileMoney(charge, { idempotencyKey: KEY });
  expect(again).toMatchObject({ status: 'unrecognised', raw_status: 'unrecognised' });
  expectNoSecrets([...shared.writes, again], secrets);
});

test('does not store a checkout_url that has the email in it', async () => {
  const shared = sharedStore();
  const page = 'https://pay.example/checkout/TXN-8f2c61d0';
  const body = successBodies.initialize({ checkout_url: `${page}?email=${encodeURIComponent(EMAIL)}` });
  const service = await startService(200, body);
  const client = service.client({ journal: shared.journal() });
  await client.initialize(payment, { idempotencyKey: KEY });
  const again = await catchError(client.initialize(payment, { idempotencyKey: KEY }));
  expect(again).toMatchObject({ code: 'outcome_unknown', reference: 'TXN-8f2c61d0' });
  expectNoSecrets([...shared.writes, again], { key: API_KEY, email: EMAIL });
});

const ends: [string, number, unknown][] = [
  ['completed', 200, successBodies.chargeMobileMoney({ customer_email: EMAIL })],
  ['rejected', 422, { message, errors: [{ field: 'phone', message: PHONE }] }],
  ['unknown', 500, { message, key: API_KEY }],
  ['unknown, with a reference', 200, { status: true, message, data: { reference: 'TXN-1', to: EMAIL } }],
];

test.each(ends)(
  'writes no customer and no key to SQLite for a charge that is %s',
  async (_state, status, body) => {
    const file = sqliteFile();
    const service = await startService(status, body);
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

test('stores different fingerprints for equal input under two keys', async () => {
  const shared = sharedStore();
  const service = await startService(422);
  const client = service.client({ journal: shared.journal() });
  for (const idempotencyKey of ['order-1', 'order-2'])
    await catchError(client.chargeMobileMoney(charge, { idempotencyKey }));
  const [one, two] = ['order-1', 'order-2'].map(
    (key) => parseLedgerRecord(JSON.parse(shared.records.get(`key ${key}`)?.text ?? '{}'))?.payments[0],
  );
  expect(one?.fingerprint).toMatch(/^[\da-f]{64}$/);
  expect(two?.fingerprint).toMatch(/^[\da-f]{64}$/);
  expect(one?.fingerprint).not.toBe(two?.fingerprint);
});

test('redacts customer and API key in events, lines and errors of a key', async () => {
  const reported: unknown[] = [];
  const note = (line: string) => reported.push(line);
  const shared = sharedStore();
  const service = await startService((response, _request, count) =>
    sendJson(
      response,
      count === 1 ? 500 : 200,
      count === 1 ? { message } : successBodies.chargeMobileMoney(),
    ),
  );
  const client = service.client({
    journal: shared.journal(),
    onEvent: (event: PaymentsEvent) => reported.push(event),
    logger: { debug: note, info: note, warn: note, error: note },
  });
  const idempotencyKey = `order of ${EMAIL}, ${PHONE}`;
  const charged = (input = charge) =>
    client.chargeMobileMoney(input, { idempotencyKey }).catch((error: unknown) => reported.push(error));
  await charged();
  await charged();
  await client
    .chargeMobileMoney({ ...charge, amount: 30 }, { idempotencyKey })
    .catch((error) => reported.push(error));
  expect(reported.length).toBeGreaterThan(6);
  for (const one of reported) expectNoSecrets(one, secrets);
});

test('redacts customer and phone in the key that a journal error shows', async () => {
  const service = await startService();
  const idempotencyKey = `order of ${EMAIL}, ${PHONE}`;
  const shared = sharedStore();
  shared.records.set(`key ${idempotencyKey}`, { version: '1', text: '{}' });
  const down = {
    read: () => Promise.reject(new Error('down')),
    write: () => Promise.reject(new Error('down')),
  };
  for (const journal of [shared.journal(), createJournal(down)]) {
    const failure = await catchError(
      service.client({ journal }).chargeMobileMoney(charge, { idempotencyKey }),
    );
    expect(String(failure)).toContain('idempotencyKey "order of [REDACTED], [REDACTED]"');
    expectNoSecrets(failure, secrets);
  }
  for (const call of [
    shared.journal().read(idempotencyKey),
    shared.journal().resolve(idempotencyKey, 'not_charged', note),
    sharedStore().journal().resolve(idempotencyKey, 'not_charged', note),
  ])
    expectNoSecrets(await catchError(call), secrets);
});
