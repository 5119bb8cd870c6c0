import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { CLIENT_ACCESS } from '../../../src/client-access.ts';
import { createFollowUps } from '../../../src/follow-ups/index.ts';
import { ConfigurationError, PaymentsClient } from '../../../src/index.ts';
import { type Journal, memoryJournal } from '../../../src/stores/index.ts';
import { API_KEY } from '../../helpers/service.ts';

const connect = (journal?: Journal, polling = {}) =>
  new PaymentsClient({ apiKey: API_KEY, baseUrl: 'https://payments.example/api/v1', journal, polling });

const journal = memoryJournal();
const payments = connect(journal);
const handlers = { onFinal() {}, onAttention() {} };

/** Returns the error of options that JavaScript lets through. */
function refuse(options: unknown): unknown {
  try {
    Reflect.apply(createFollowUps, undefined, [options]);
  } catch (error) {
    return error;
  }
  throw new Error('Expected an error.');
}

test('takes a client, its journal and two handlers', () => {
  const followUps = createFollowUps({ payments, journal, ...handlers });
  expect(Object.keys(followUps).sort()).toEqual(['notify', 'run', 'sweep']);
});

test.each<[string, () => unknown, RegExp]>([
  ['nothing', () => undefined, /takes \{ payments, journal, onFinal, onAttention \}/],
  ['no object', () => 'sweep', /takes \{ payments, journal, onFinal, onAttention \}/],
  [
    'an unknown option',
    () => ({ payments, journal, ...handlers, onfinal() {} }),
    /"onfinal".*Did you mean onFinal\?/,
  ],
  ['no onFinal', () => ({ payments, journal, onAttention() {} }), /onFinal must be a function/],
  [
    'an onAttention that is no function',
    () => ({ payments, journal, onFinal() {}, onAttention: 'log' }),
    /onAttention must/,
  ],
  ['no client', () => ({ journal, ...handlers }), /must be a PaymentsClient/],
  [
    'a plain object for a client',
    () => ({ payments: { ...payments }, journal, ...handlers }),
    /must be a PaymentsClient/,
  ],
  [
    'a client of another version',
    () => ({ payments: { [CLIENT_ACCESS]: { version: 2, journal } }, journal, ...handlers }),
    /must be a PaymentsClient of the same version/,
  ],
  [
    'the prototype of a client',
    () => ({ payments: PaymentsClient.prototype, journal, ...handlers }),
    /must be a PaymentsClient/,
  ],
  ['a client without a journal', () => ({ payments: connect(), journal, ...handlers }), /has no journal/],
  ['no journal', () => ({ payments, ...handlers }), /must be the very journal/],
  [
    'another journal',
    () => ({ payments, journal: memoryJournal(), ...handlers }),
    /must be the very journal/,
  ],
  [
    'a wrapper of its journal',
    () => ({ payments, journal: { ...journal }, ...handlers }),
    /must be the very journal/,
  ],
  [
    'a schedule of more than an hour',
    () => {
      const own = memoryJournal();
      return { payments: connect(own, { maxDelay: 4_000_000 }), journal: own, ...handlers };
    },
    /at most an hour/,
  ],
])('refuses %s', (_name, make, message) => {
  const error = refuse(make());
  expect(error).toBeInstanceOf(ConfigurationError);
  expect(error).toHaveProperty('message', expect.stringMatching(message));
  expect(error).toHaveProperty(
    'message.length',
    expect.toSatisfy((length: number) => length <= 200),
  );
});

test('shows nothing of the access that follow-ups use', () => {
  expect(Object.keys(payments)).toEqual([]);
  expect(JSON.stringify(payments)).not.toContain('journal');
  const access: unknown = Reflect.get(payments, CLIENT_ACCESS);
  expect(JSON.stringify(access)).not.toContain(API_KEY);
  expect(inspect(access, { depth: 9, showHidden: true })).not.toContain(API_KEY);
});
