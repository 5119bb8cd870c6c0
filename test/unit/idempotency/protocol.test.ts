import { describe, expect, test } from 'vitest';
import { ConfigurationError } from '../../../src/index.ts';
import { type Journal, memoryJournal, protocol } from '../../../src/journal/index.ts';
import { charged, replayOf } from '../../helpers/keyed-calls.ts';
import { sendJson, startService, successBodies } from '../../helpers/service.ts';

const serve = () => startService((response) => sendJson(response, 200, successBodies.chargeMobileMoney()));

/** A journal as a merchant writes it, that counts its steps. */
class CountingJournal implements Journal {
  readonly protocol = protocol;
  readonly lease: number;
  readonly #inner: Journal;
  readonly steps: string[] = [];

  constructor(inner: Journal) {
    this.#inner = inner;
    this.lease = inner.lease;
  }

  claim(...args: Parameters<Journal['claim']>) {
    this.steps.push('claim');
    return this.#inner.claim(...args);
  }

  renew(...args: Parameters<Journal['renew']>) {
    return this.#inner.renew(...args);
  }

  complete(...args: Parameters<Journal['complete']>) {
    this.steps.push('complete');
    return this.#inner.complete(...args);
  }

  read(...args: Parameters<Journal['read']>) {
    return this.#inner.read(...args);
  }

  list(...args: Parameters<Journal['list']>) {
    return this.#inner.list(...args);
  }

  count() {
    return this.#inner.count();
  }

  resolve(...args: Parameters<Journal['resolve']>) {
    return this.#inner.resolve(...args);
  }

  get followUps() {
    return this.#inner.followUps;
  }
}

function countSteps(wrap: (journal: Journal, steps: string[]) => Journal) {
  const steps: string[] = [];
  return { steps, journal: wrap(memoryJournal(), steps) };
}

const wrappers: [string, () => { steps: string[]; journal: Journal }][] = [
  [
    'a spread journal with a step of its own',
    () =>
      countSteps((journal, steps) => ({
        ...journal,
        claim(key, intent) {
          steps.push('claim');
          return journal.claim(key, intent);
        },
        complete(claim, completion) {
          steps.push('complete');
          return journal.complete(claim, completion);
        },
      })),
  ],
  [
    'a Proxy of a journal',
    () =>
      countSteps(
        (journal, steps) =>
          new Proxy(journal, {
            get(target, name, receiver) {
              if (name === 'claim' || name === 'complete') steps.push(name);
              return Reflect.get(target, name, receiver);
            },
          }),
      ),
  ],
  [
    'a class with the protocol',
    () => {
      const journal = new CountingJournal(memoryJournal());
      return { steps: journal.steps, journal };
    },
  ],
];

describe.each(wrappers)('%s', (_what, wrap) => {
  test('charges once for each key through its own steps', async () => {
    const service = await serve();
    const { steps, journal } = wrap();
    const client = service.client({ journal });
    steps.length = 0;
    const charge = await charged(client);
    expect(await charged(client)).toEqual(replayOf(charge));
    expect(steps).toEqual(['claim', 'complete', 'claim']);
    expect(service.requests).toHaveLength(1);
  });
});

const foreign: [string, unknown][] = [
  ['no protocol', undefined],
  ['a protocol of another version', { ...protocol, version: 2 }],
  ['a protocol that cannot send', { version: 1 }],
  ['null for a protocol', null],
];

test.each(foreign)('refuses a journal with %s, and explains how to wrap one', async (_what, given) => {
  const service = await serve();
  const journal: Journal = Object.assign(memoryJournal(), { protocol: given });
  const construct = () => service.client({ journal });
  expect(construct).toThrow(ConfigurationError);
  expect(construct).toThrow('protocol');
  expect(construct).toThrow('{ ...journal }');
});
