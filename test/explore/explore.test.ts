import { expect, test } from 'vitest';
import { chooseSize } from '../helpers/sized.ts';
import { configs } from './configs.ts';
import { explore } from './search.ts';

/** How many states of each world are visited: in the short form, only small worlds are visited whole. */
const MAX_STATES = chooseSize(800, 12_000);
const SMALL = ['tiny', 'overdue', 'late', 'pruneChecked', 'taken'];

test.each(Object.entries(configs))('the rules hold in every order of events: %s', (name, config) => {
  const maxStates = SMALL.includes(name) ? config.maxStates : MAX_STATES;
  const { broken, states, isClosed } = explore({ ...config, maxStates });
  expect(broken).toBeUndefined();
  expect(isClosed || (states > maxStates && !SMALL.includes(name))).toBe(true);
});

test('exploring prints the shortest sequence of events for what it finds', () => {
  const { broken } = explore({ ...configs.late, sendsLate: true });
  expect(broken).toEqual({
    what: 'TXN-1 is paid at the service, and nobody hears of it (had every charge been paid)',
    steps: [
      'a customer presses for A: {"phone":1,"price":1}',
      'the press decides for A: send',
      'time passes: leases are over',
      expect.stringContaining('a person looks at A/1: not_charged'),
      expect.stringContaining('the person writes not_charged'),
      'the POST leaves',
      'the service makes the charge',
    ],
  });
});
