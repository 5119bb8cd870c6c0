/**
 * Kofi decides about what was shown to him, and something else happens before any step that his call takes on the journal. Either
 * his decision counts, or he is told what happened.
 */

import { beforeEach, expect, test, vi } from 'vitest';
import type { Resolution } from '../../../src/index.ts';
import type { AttentionReason } from '../../../src/orders/index.ts';
import { fakeClocks } from '../../helpers/fake-timers.ts';
import { finish } from '../../helpers/follow-ups.ts';
import { HOUR, openReviewed, type ReviewedOrder } from '../../helpers/order-reasons.ts';
import { momo } from '../../helpers/order-shop.ts';
import { note } from '../../helpers/resolution-note.ts';
import { wrapStore } from '../../helpers/wrapped-store.ts';

beforeEach(() => {
  fakeClocks();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

/** Another process, what Ama was shown too, and the transaction of the payment. */
interface World extends ReviewedOrder {
  readonly revision: string | undefined;
  readonly reference: string;
}

type Meanwhile = (world: World) => Promise<unknown>;

const ama = { by: 'ama@shop.example', reason: 'I was faster' };

const toResolution = (decision: string, { reference }: World): Resolution =>
  decision === 'not_charged' || decision === 'accepted' || decision === 'closed' ? decision : { reference };

const decide =
  (decision: string): Meanwhile =>
  ({ orders, ...world }) =>
    orders.payments.resolve('17/1', toResolution(decision, { orders, ...world }), {
      ...ama,
      revision: world.revision,
    });

const press =
  (amount: string): Meanwhile =>
  ({ orders }) =>
    orders.charge('17', { ...momo, amount });

const checkFor =
  (change: (world: World) => void): Meanwhile =>
  async (world) => {
    change(world);
    await world.orders.sweep();
  };

const findAmount = (amount: string) =>
  checkFor(({ shop }) => {
    shop.service.clearFaults();
    shop.service.fault('verify', { kind: 'wrongAmount', amount });
  });

const thenPress = async (world: World) => {
  await decide('not_charged')(world);
  await world.orders.charge('17', momo);
};

/** What Kofi decides, what happens meanwhile, and what he is told of it. */
const races: [reason: AttentionReason, decision: string, what: string, meanwhile: Meanwhile, told: string][] =
  [
    ...['reference', 'not_charged', 'closed'].flatMap((decision): typeof races => [
      ['unresolved', decision, 'Ama names it', decide('reference'), 'ama@shop.example: TXN-000001'],
      ['unresolved', decision, 'Ama: not_charged', decide('not_charged'), 'ama@shop.example: not_charged'],
      ['unresolved', decision, 'Ama: closed', decide('closed'), 'ama@shop.example: closed'],
      ['unresolved', decision, 'a press begins after Ama', thenPress, 'a press: another attempt began'],
      ['unresolved', decision, 'a press', press('40.00'), 'a press: the order was asked for at 40.00 GHS'],
    ]),
    ...['accepted', 'closed'].flatMap((decision): typeof races => [
      ['price_changed', decision, 'Ama: accepted', decide('accepted'), 'ama@shop.example: accepted'],
      ['price_changed', decision, 'Ama: closed', decide('closed'), 'ama@shop.example: closed'],
      ['price_changed', decision, 'a press', press('40.00'), 'a press: the order was asked for at 40.00 GHS'],
      [
        'price_changed',
        decision,
        'a press pays',
        press('25.50'),
        'a press: the order was asked for at 25.50 GHS',
      ],
      ['mismatch', decision, 'Ama: accepted', decide('accepted'), 'ama@shop.example: accepted'],
      ['mismatch', decision, 'a check', findAmount('21.00'), 'a check: it found 21.00 GHS'],
      ['mismatch', decision, 'a check pays', findAmount('25.50'), 'a check: it found its own amount'],
    ]),
    [
      'overdue',
      'closed',
      'a check',
      checkFor(({ shop, reference }) => shop.service.decline(reference)),
      'a check: it found failed',
    ],
    [
      'overdue',
      'closed',
      'a check pays',
      checkFor(({ shop, reference }) => shop.service.approve(reference)),
      'a check: it found success',
    ],
    ['overdue', 'closed', 'Ama: closed', decide('closed'), 'ama@shop.example: closed'],
  ];

/** Kofi decides, and `meanwhile` runs before a step of his on the journal. Returns `undefined` if he takes fewer steps. */
async function race(reviewed: ReviewedOrder, decision: string, meanwhile: Meanwhile, at: number) {
  const { shop, orders } = reviewed;
  // What is planned is due.
  vi.setSystemTime(Date.now() + HOUR);
  const { revision } = (await finish(orders.journal.read('17/1'))) ?? {};
  const reference = shop.service.charges[0]?.reference ?? '';
  const world = { shop, orders, revision, reference };
  let steps = 0;
  let happened: PromiseSettledResult<unknown> | undefined;
  const store = wrapStore(shop.store, async (_, run) => {
    if (steps++ === at) [happened] = await Promise.allSettled([meanwhile(world)]);
    return await run();
  });
  const kofi = shop.start({}, {}, store);
  const call = kofi.payments.resolve('17/1', toResolution(decision, world), { ...note, revision });
  const [decided] = await finish(Promise.allSettled([call]));
  const { resolutions = [] } = (await finish(orders.journal.read('17/1'))) ?? {};
  return happened && { decided, happened, resolutions, persons: resolutions.map(({ by }) => by) };
}

type Raced = NonNullable<Awaited<ReturnType<typeof race>>>;

/** Kofi's decision counts alone, or he is told; the same decision twice is harmless. */
function expectOne({ decided, happened, persons }: Raced, decision: string, told: string): void {
  const isAma = told.startsWith(ama.by) || told.includes('attempt');
  const isSame = told.endsWith(`: ${decision}`) || (decision === 'reference' && told.endsWith('TXN-000001'));
  if (decided.status === 'rejected') {
    expect(String(decided.reason)).toContain(
      `JournalError: This payment was changed meanwhile by ${told}. This decision was not`,
    );
    expect(persons).toEqual(isAma ? [ama.by] : []);
  } else if (isSame) expect(persons).toEqual([expect.any(String)]);
  else expect(persons).toEqual([note.by]);
  if (happened.status === 'rejected')
    expect(String(happened.reason)).toContain('JournalError: This payment was changed meanwhile by ');
}

test.each(races)('%s, %s, %s: counts or is told', async (reason, decision, _, meanwhile, told) => {
  const ends = new Set<string>();
  for (let at = 0; ; at++) {
    const raced = await race(await openReviewed(reason), decision, meanwhile, at);
    if (!raced) break;
    expectOne(raced, decision, told);
    ends.add(raced.decided.status);
  }
  // It happened before he decided, and after it.
  expect([...ends].sort()).toEqual(['fulfilled', 'rejected']);
});

test('an earlier decision is replaced by one of two persons, and the other is told', async () => {
  const ends = new Set<string>();
  for (let at = 0; ; at++) {
    const reviewed = await openReviewed('unresolved');
    const { payments } = reviewed.orders;
    await finish(payments.resolve('17/1', 'closed', { by: 'esi@shop.example', reason: 'too early' }));
    // Ama decides about what is recorded then, also after Kofi took the first decision back.
    const meanwhile: Meanwhile = (world) => payments.resolve('17/1', toResolution('reference', world), ama);
    const raced = await race(reviewed, 'not_charged', meanwhile, at);
    if (!raced) break;
    const { decided, resolutions } = raced;
    const counted = resolutions.filter(({ resolution }) => resolution !== 'taken_back').map(({ by }) => by);
    if (decided.status === 'rejected')
      expect(String(decided.reason)).toContain('changed meanwhile by ama@shop.example: TXN-000001');
    ends.add(`${decided.status}: ${counted.join(', ')}`);
  }
  expect([...ends]).toEqual([
    'rejected: esi@shop.example, ama@shop.example',
    'fulfilled: esi@shop.example, kofi@shop.example, ama@shop.example',
  ]);
});
