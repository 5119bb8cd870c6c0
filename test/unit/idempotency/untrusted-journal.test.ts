import { describe, expect, test } from 'vitest';
import { ConfigurationError, JournalError, OutcomeUnknownError } from '../../../src/index.ts';
import { createJournal, type JournalStore, memoryJournal, memoryStore } from '../../../src/stores/index.ts';
import { sharedStore } from '../../helpers/journals.ts';
import { charged, KEY } from '../../helpers/keyed-calls.ts';
import { expectNoSecrets } from '../../helpers/secrets.ts';
import { API_KEY, catchError, EMAIL, PHONE, startService } from '../../helpers/service.ts';

const thrown: [string, unknown][] = [
  ['nothing', undefined],
  ['null', null],
  ['text', `cannot insert ${API_KEY} ${EMAIL}`],
  ['a symbol', Symbol('odd')],
  ['an object without a prototype', Object.create(null)],
  ['an error of another kind', new RangeError(`for ${EMAIL}`, { cause: new Error(API_KEY) })],
  [
    'a JournalError with the error of the database',
    new JournalError('Down.', { cause: new Error(`key ${API_KEY}`) }),
  ],
];

describe.each(thrown)("a merchant's store that throws %s", (_what, fault) => {
  test.each(['rejects', 'throws'])('makes the claim fail with a JournalError (%s)', async (how) => {
    const service = await startService();
    const write: JournalStore['write'] = () => {
      if (how === 'throws') throw fault;
      return Promise.reject(fault);
    };
    const journal = createJournal({ ...memoryStore(), write });
    const failure = await catchError(charged(service.client({ journal })));
    expect(failure).toBeInstanceOf(JournalError);
    expect(failure).toMatchObject({ operation: 'chargeMobileMoney', outcome: 'not_sent' });
    expect(failure).toHaveProperty('message', expect.stringMatching(/Nothing was sent\.$/));
    expectNoSecrets(failure, { key: API_KEY, phone: PHONE, email: EMAIL });
    expect(service.requests).toEqual([]);
  });
});

const unreadable: [string, object][] = [
  ['only its reference', {}],
  [
    'a reference of another form',
    { reference: 'order/17', status: 'processing', amount: '25.50', currency: 'GHS' },
  ],
  [
    'the result of the other operation',
    { checkout_url: 'https://pay.example', amount: '25.50', currency: 'GHS' },
  ],
  ['another amount', { status: 'processing', amount: '2.55', currency: 'GHS' }],
  ['another currency', { status: 'processing', amount: '25.50', currency: 'NGN' }],
];

test.each(unreadable)('sends nothing and asks to verify a recorded result with %s', async (_what, result) => {
  const service = await startService();
  const shared = sharedStore();
  const client = service.client({ journal: shared.journal() });
  await charged(client);
  const kept = shared.records.get(`key ${KEY}`);
  const record = JSON.parse(kept?.text ?? '');
  record.payments[0].charge.result = { reference: 'TXN-1', ...result };
  shared.records.set(`key ${KEY}`, { version: 'v9', text: JSON.stringify(record) });
  const failure = await catchError(charged(client));
  const reference = record.payments[0].charge.result.reference;
  if ('amount' in result && 'status' in result && reference === 'TXN-1')
    expect(failure).toMatchObject({ code: 'transaction_mismatch', transaction: { reference } });
  else expect(failure).toMatchObject({ code: 'outcome_unknown', reference });
  expect(failure).toMatchObject({ outcome: 'unknown', nextStep: 'review' });
  expect(service.requests).toHaveLength(1);
});

test.each([
  ['is damaged', '{"format":1}'],
  ['is of a newer version', '{"format":2,"service":"any"}'],
  ['is not JSON', 'service'],
])('sends nothing and names the key if its record %s', async (_what, text) => {
  const service = await startService();
  const shared = sharedStore();
  shared.records.set(`key ${KEY}`, { version: 'v1', text });
  const failure = await catchError(charged(service.client({ journal: shared.journal() })));
  expect(failure).toBeInstanceOf(OutcomeUnknownError);
  expect(failure).toMatchObject({ idempotencyKey: KEY, nextStep: 'review' });
  expect(String(failure)).toContain('cannot be read');
  expect(service.requests).toEqual([]);
});

const imitations: [string, () => unknown][] = [
  ['a store', memoryStore],
  ['an object of that form', () => ({ read() {}, list() {}, count() {}, resolve() {}, prune() {} })],
  ['a copy of a journal', () => ({ ...memoryJournal() })],
  ['an object that inherits from a journal', () => Object.create(memoryJournal())],
  [
    'a journal of another version',
    () =>
      Object.defineProperty({}, Symbol.for('payment-collection-client.journal'), { value: { version: 2 } }),
  ],
  ['text', () => 'memory'],
];

test.each(imitations)('refuses %s for a journal in the constructor', async (_what, make) => {
  const service = await startService();
  const construct = () =>
    service.client(JSON.parse('{}', (_, given) => Object.assign(given, { journal: make() })));
  expect(construct).toThrow(ConfigurationError);
});
