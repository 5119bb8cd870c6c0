/** One call on an order, and another one that happens before any step that it takes on the journal. */

import { expect, test } from 'vitest';
import type { Resolution } from '../../../src/index.ts';
import { note } from '../../helpers/resolution-note.ts';
import { HOUR, momo, type Process, type World } from '../../helpers/world.ts';
import { wrapStore } from '../../helpers/wrapped-store.ts';
import { openReviewed } from './beginnings.ts';

/** Calls in a process of its own, before whose step `at` the other call ends. Returns `undefined` if it takes fewer steps. */
async function interrupt(
  { start, store }: World,
  at: number,
  call: (process: Process) => Promise<unknown>,
  other: () => Promise<unknown>,
) {
  let steps = 0;
  let happened: PromiseSettledResult<unknown> | undefined;
  const held = wrapStore(store, async (_, run) => {
    if (steps++ === at) [happened] = await Promise.allSettled([other()]);
    return await run();
  });
  const [called] = await Promise.allSettled([call(start({ store: held }))]);
  return happened && { called, happened };
}

/** What happens meanwhile. Ama decides about what she was shown when Kofi was. */
type Meanwhile = (world: World, revision?: string) => Promise<unknown>;

const ama = { by: 'ama@shop.example', reason: 'I was faster' };

/** The first transaction is that of 17/1. */
const toResolution = (decision: string): Resolution =>
  decision === 'not_charged' || decision === 'accepted' || decision === 'closed'
    ? decision
    : { reference: 'TXN-000001' };

const decide =
  (decision: string): Meanwhile =>
  ({ shop }, revision) =>
    shop.payments.resolve('17/1', toResolution(decision), { ...ama, revision });

const press =
  (amount: string): Meanwhile =>
  ({ shop }) =>
    shop.orders.charge('17', { ...momo, amount });

const checkFor =
  (change: (service: World['service']) => void): Meanwhile =>
  async ({ shop, service }) => {
    change(service);
    await shop.orders.sweep();
  };

const findAmount = (amount: string) =>
  checkFor((service) => {
    service.clearFaults();
    service.fault('verify', { kind: 'wrongAmount', amount });
  });

const thenPress: Meanwhile = async (made, revision) => {
  await decide('not_charged')(made, revision);
  await made.shop.orders.charge('17', momo);
};

/** By the reason, what happens while Kofi decides, and what he is told of it. */
const races = {
  unresolved: [
    ['Ama names it', decide('reference'), 'ama@shop.example: TXN-000001'],
    ['Ama: not_charged', decide('not_charged'), 'ama@shop.example: not_charged'],
    ['Ama: closed', decide('closed'), 'ama@shop.example: closed'],
    ['a press begins after Ama', thenPress, 'a press: another attempt began'],
    ['a press', press('40.00'), 'a press: the order was asked for at 40.00 GHS'],
  ],
  price_changed: [
    ['Ama: accepted', decide('accepted'), 'ama@shop.example: accepted'],
    ['a press', press('40.00'), 'a press: the order was asked for at 40.00 GHS'],
    ['a press pays', press('25.50'), 'a press: the order was asked for at 25.50 GHS'],
  ],
  mismatch: [
    ['Ama: accepted', decide('accepted'), 'ama@shop.example: accepted'],
    ['a check', findAmount('21.00'), 'a check: it found 21.00 GHS'],
    ['a check pays', findAmount('25.50'), 'a check: it found its own amount'],
  ],
  overdue: [
    ['a check', checkFor((service) => service.decline('TXN-000001')), 'a check: it found failed'],
    ['a check pays', checkFor((service) => service.approve('TXN-000001')), 'a check: it found success'],
  ],
} satisfies Record<string, [what: string, meanwhile: Meanwhile, told: string][]>;

const decisions = {
  unresolved: ['reference', 'not_charged', 'closed'],
  price_changed: ['accepted', 'closed'],
  mismatch: ['accepted', 'closed'],
  overdue: ['closed'],
} as const;

const reasons = ['unresolved', 'price_changed', 'mismatch', 'overdue'] as const;
const rows = reasons.flatMap((reason) =>
  decisions[reason].flatMap((decision) => races[reason].map((race) => [reason, decision, ...race] as const)),
);

/** Kofi decides about what was shown to him. */
async function race(made: World, decision: string, meanwhile: Meanwhile, at: number) {
  // What is planned is due.
  await made.clock.pass(HOUR);
  const { revision } = (await made.journal.read('17/1')) ?? {};
  const raced = await interrupt(
    made,
    at,
    ({ payments }) => payments.resolve('17/1', toResolution(decision), { ...note, revision }),
    () => meanwhile(made, revision),
  );
  const { resolutions = [] } = (await made.journal.read('17/1')) ?? {};
  return raced && { ...raced, resolutions, persons: resolutions.map(({ by }) => by) };
}

test.each(rows)('%s, %s, %s: it counts, or he is told', async (reason, decision, _, meanwhile, told) => {
  const isAma = told.startsWith(ama.by) || told.includes('attempt');
  // The same decision twice is harmless.
  const isSame = told.endsWith(`: ${decision === 'reference' ? 'TXN-000001' : decision}`);
  const ends = new Set<string>();
  for (let at = 0; ; at++) {
    const raced = await race(await openReviewed(reason), decision, meanwhile, at);
    if (!raced) break;
    const { called, happened, persons } = raced;
    const changed = 'JournalError: This payment was changed meanwhile by ';
    if (called.status === 'rejected') {
      expect(String(called.reason)).toContain(`${changed}${told}. This decision was not`);
      expect(persons).toEqual(isAma ? [ama.by] : []);
    } else expect(persons).toEqual([isSame ? expect.any(String) : note.by]);
    if (happened.status === 'rejected') expect(String(happened.reason)).toContain(changed);
    ends.add(called.status);
  }
  // It happened before he decided, and after it.
  expect([...ends].sort()).toEqual(['fulfilled', 'rejected']);
});
