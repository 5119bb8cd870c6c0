import { describe, expect, test } from 'vitest';
import {
  ConfigurationError,
  type Journal,
  JournalError,
  OutcomeUnknownError,
  type PaymentsEvent,
} from '../../../src/index.ts';
import { expectNoSecrets } from '../../helpers/secrets.ts';
import { API_KEY, answers, EMAIL, failureOf, json, PHONE, startService } from '../../helpers/service.ts';
import { changed, sharedStore } from './journals.ts';
import { charged, KEY } from './keyed-calls.ts';

const serve = () => startService((response) => json(response, 200, answers.chargeMobileMoney()));

const thrown: [string, unknown][] = [
  ['nothing', undefined],
  ['null', null],
  ['text', `cannot insert ${API_KEY} ${EMAIL}`],
  ['a symbol', Symbol('odd')],
  ['an object without a prototype', Object.create(null)],
  ['an error of another kind', new RangeError(`for ${EMAIL}`, { cause: new Error(API_KEY) })],
  [
    'a journal error with all that the database said',
    new JournalError('Down.', { cause: new Error(`key ${API_KEY}`) }),
  ],
];

describe.each(thrown)("a merchant's journal that throws %s", (_what, fault) => {
  test.each(['rejects', 'throws'])(
    'when asked to begin (%s): nothing is sent, and it is a JournalError',
    async (how) => {
      const service = await serve();
      const begin: Journal['claim'] = () => {
        if (how === 'throws') throw fault;
        return Promise.reject(fault);
      };
      const failure = await failureOf(
        charged(service.client({ journal: changed(sharedStore().journal(), { claim: begin }) })),
      );
      expect(failure).toBeInstanceOf(JournalError);
      expect(failure).toMatchObject({ operation: 'chargeMobileMoney', outcome: 'not_sent' });
      expect(failure).toHaveProperty('message', expect.stringMatching(/Nothing was sent\.$/));
      expectNoSecrets(failure, { key: API_KEY, phone: PHONE, email: EMAIL });
      expect(service.requests).toEqual([]);
    },
  );
});

const nonsense: [string, unknown][] = [
  ['nothing', undefined],
  ['true', true],
  ['no state', {}],
  ['a state that there is not', { state: 'paid' }],
  ['a claim that is none', { state: 'claimed' }],
  ['a claim for nothing', { state: 'claimed', claim: {} }],
  ['a result that is none', { state: 'completed', result: null }],
  ['a result without a reference', { state: 'completed', result: { status: 'success' } }],
  ['something in progress without a version', { state: 'in_progress' }],
];

test.each(nonsense)(
  "a merchant's journal that answers with %s: nothing is sent, nothing is a result, and a charge may exist",
  async (_what, answer) => {
    const service = await serve();
    const begin = () => Promise.resolve(JSON.parse(JSON.stringify(answer ?? null)));
    const journal = changed(sharedStore().journal(), { claim: begin });
    const failure = await failureOf(charged(service.client({ journal })));
    expect(failure).toBeInstanceOf(OutcomeUnknownError);
    expect(failure).toMatchObject({ outcome: 'unknown', retryable: false });
    expect(String(failure)).toContain('Nothing was sent.');
    expect(service.requests).toEqual([]);
  },
);

const unreadable: [string, object][] = [
  ['nothing but its reference', {}],
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

test.each(unreadable)(
  'a recorded result with %s is no result: verify it, nothing is sent',
  async (_what, result) => {
    const service = await serve();
    const standing = { state: 'completed', result: { reference: 'TXN-1', ...result } } as const;
    const journal = changed(sharedStore().journal(), { claim: async () => standing });
    const failure = await failureOf(charged(service.client({ journal })));
    expect(failure).toBeInstanceOf(OutcomeUnknownError);
    expect(failure).toMatchObject({ reference: standing.result.reference, outcome: 'unknown' });
    expect(service.requests).toEqual([]);
  },
);

test('a journal that throws when asked what it holds does not take a result away', async () => {
  const service = await serve();
  const journal = changed(sharedStore().journal(), {
    complete: async () => false,
    read: () => {
      throw new Error('not written yet');
    },
  });
  const failure = await failureOf(charged(service.client({ journal })));
  expect(failure).toBeInstanceOf(OutcomeUnknownError);
  expect(failure).toMatchObject({ reference: 'TXN-8f2c61d0' });
});

test.each([undefined, 0, 99, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31])(
  'a journal with a lease of %s is refused by the constructor',
  async (lease) => {
    const service = await serve();
    const journal: Journal = Object.assign(sharedStore().journal(), { lease });
    expect(() => service.client({ journal })).toThrow(ConfigurationError);
  },
);

test('a record that cannot be read is never charged on, and never said to be no charge', async () => {
  const service = await serve();
  const shared = sharedStore();
  await charged(service.client({ journal: shared.journal() }));
  for (const text of ['', '{}', 'null', '{"format":2,"state":"not_charged"}']) {
    shared.records.set(KEY, { version: '1', text, writtenAt: 0 });
    const told: PaymentsEvent[] = [];
    const onEvent = (event: PaymentsEvent) => told.push(event);
    const failure = await failureOf(charged(service.client({ journal: shared.journal(), onEvent })));
    expect(failure).toBeInstanceOf(OutcomeUnknownError);
    expect(failure).toMatchObject({ outcome: 'unknown', retryable: false });
    expect(String(failure)).toContain('a newer version of this package might have written it');
    expect(String(failure)).toContain('Nothing was sent. An earlier call might have charged');
    expect(failure).toMatchObject({ idempotencyKey: KEY });
    expect(told).toMatchObject([{ type: 'journal', result: 'unresolved', idempotencyKey: KEY }]);
  }
  expect(service.requests).toHaveLength(1);
});
