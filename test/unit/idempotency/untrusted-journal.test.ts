import { describe, expect, test } from 'vitest';
import { ConfigurationError, JournalError, OutcomeUnknownError } from '../../../src/index.ts';
import type { JournalCore } from '../../../src/journal/core.ts';
import { memoryJournal, memoryStore } from '../../../src/journal/index.ts';
import { changed, sharedStore } from '../../helpers/journals.ts';
import { charged } from '../../helpers/keyed-calls.ts';
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

describe.each(thrown)("a merchant's journal that throws %s", (_what, fault) => {
  test.each(['rejects', 'throws'])('makes the claim fail with a JournalError (%s)', async (how) => {
    const service = await startService();
    const claim: JournalCore['claim'] = () => {
      if (how === 'throws') throw fault;
      return Promise.reject(fault);
    };
    const failure = await catchError(
      charged(service.client({ journal: changed(sharedStore().journal(), { claim }) })),
    );
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
  const stored = { state: 'completed', result: { reference: 'TXN-1', ...result } } as const;
  const journal = changed(sharedStore().journal(), { claim: async () => stored });
  const failure = await catchError(charged(service.client({ journal })));
  expect(failure).toBeInstanceOf(OutcomeUnknownError);
  expect(failure).toMatchObject({ reference: stored.result.reference, outcome: 'unknown' });
  expect(service.requests).toEqual([]);
});

test('names the reference if read throws after a lost claim', async () => {
  const service = await startService();
  const journal = changed(sharedStore().journal(), {
    complete: async () => false,
    read: () => {
      throw new Error('not written yet');
    },
  });
  const failure = await catchError(charged(service.client({ journal })));
  expect(failure).toBeInstanceOf(OutcomeUnknownError);
  expect(failure).toMatchObject({ reference: 'TXN-8f2c61d0' });
});

const imitations: [string, () => unknown][] = [
  ['a store', memoryStore],
  ['an object of that form', () => ({ read() {}, list() {}, count() {}, resolve() {}, prune() {} })],
  ['a copy of a journal', () => ({ ...memoryJournal() })],
  ['an object that inherits from a journal', () => Object.create(memoryJournal())],
  ['a journal of another version', () => changed(memoryJournal(), Object({ version: 2 }))],
  ['text', () => 'memory'],
];

test.each(imitations)('refuses %s for a journal in the constructor', async (_what, make) => {
  const service = await startService();
  const construct = () =>
    service.client(JSON.parse('{}', (_, given) => Object.assign(given, { journal: make() })));
  expect(construct).toThrow(ConfigurationError);
});
