import { describe, expect, test } from 'vitest';
import { chooseSize } from '../helpers/sized.ts';
import { configs } from './configs.ts';
import { faults } from './faults.ts';
import { explore } from './search.ts';

const worlds = Object.entries(configs);

/** How many states of each world are visited: in the short form, only small worlds are visited whole. */
const MAX_STATES = chooseSize(800, 12_000);
const SMALL = ['tiny', 'foreign', 'overdue', 'late'];

describe('the rules of an order', () => {
  test.each(worlds)('hold in every order of events: %s', (name, config) => {
    const maxStates = SMALL.includes(name) ? config.maxStates : MAX_STATES;
    const { broken, states, isClosed } = explore({ ...config, maxStates });
    expect(broken).toBeUndefined();
    expect(isClosed || states > maxStates).toBe(true);
    if (SMALL.includes(name)) expect(isClosed).toBe(true);
  });
});

const inShell = faults.filter(({ file }) => file === undefined);
/** These are found after some thousand states. */
const QUICK = ['guard_at_claim_only', 'blind_write', 'told_before_call', 'late_send', 'claim_per_payment'];

describe('the exploration', () => {
  const tried = chooseSize(
    inShell.filter(({ name }) => QUICK.includes(name)),
    inShell,
  );

  test.each(tried)('finds a fault that is put in: $name', ({ name, worlds: given }) => {
    const found = given.some((world) => {
      const shellFaults = new Set([name]);
      return explore({ ...configs[world], shellFaults }).broken !== undefined;
    });
    expect(found).toBe(true);
  });

  test('prints the shortest sequence of events for what it finds', () => {
    const { broken } = explore({ ...configs.late, shellFaults: new Set(['late_send']) });
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
});
