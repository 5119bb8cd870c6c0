import fc from 'fast-check';
import { beforeEach, expect, test, vi } from 'vitest';
import type { JournalStore } from '../../src/journal/index.ts';
import { memoryStore } from '../../src/journal/index.ts';
import { SECOND } from '../helpers/fake-clock.ts';
import { momo, type OrderProcess, type OrderShop, openOrderShop } from '../helpers/order-shop.ts';
import { note } from '../helpers/resolution-note.ts';
import { chooseSize } from '../helpers/sized.ts';
import { wrapStore } from '../helpers/wrapped-store.ts';

beforeEach(() => {
  // Only the date: the order in which everything else happens is the scheduler's.
  vi.useFakeTimers({ toFake: ['Date'] });
  return () => vi.useRealTimers();
});

/** How the first payment of the order stands before the two presses. */
const beginnings = [
  'none',
  'under way',
  'declined',
  'approved',
  'abandoned',
  'paid after all',
  'unresolved',
] as const;

type Beginning = (typeof beginnings)[number];

/** Lets the scheduler decide when each step of the store happens. */
function schedule(store: JournalStore, scheduler: fc.Scheduler): JournalStore {
  return wrapStore(store, async (_, run) => {
    await scheduler.schedule(Promise.resolve());
    const result = await run();
    await scheduler.schedule(Promise.resolve());
    return result;
  });
}

/** Brings the first payment to where it is before the presses, and returns its reference. */
async function begin(
  beginning: Beginning,
  { service }: OrderShop,
  { charge, sweep, payments }: OrderProcess,
): Promise<string | undefined> {
  if (beginning === 'none') return undefined;
  if (beginning === 'unresolved') service.fault('chargeMobileMoney', { kind: 'responseLost' });
  await charge('17', momo);
  const reference = service.charges[0]?.reference ?? '';
  if (beginning === 'declined') service.decline(reference);
  if (beginning === 'abandoned' || beginning === 'paid after all') service.abandon(reference);
  if (beginning === 'paid after all') {
    vi.setSystemTime(Date.now() + 20 * SECOND);
    await sweep();
  }
  if (beginning === 'approved' || beginning === 'paid after all') service.approve(reference);
  payments.close();
  return reference;
}

const CAN_BEGIN: readonly Beginning[] = ['none', 'declined', 'abandoned'];
const IS_PAID: readonly Beginning[] = ['approved', 'paid after all'];

function expectedStates(beginning: Beginning): readonly string[] {
  if (IS_PAID.includes(beginning)) return ['paid'];
  return beginning === 'unresolved' ? ['in_review', 'processing'] : ['processing'];
}

async function run(beginning: Beginning, scheduler: fc.Scheduler): Promise<void> {
  const records = memoryStore();
  let isScheduled = false;
  const shop = openOrderShop({
    store: records,
    async intercept() {
      if (isScheduled) await scheduler.schedule(Promise.resolve());
      return undefined;
    },
  });
  const reference = await begin(beginning, shop, shop.start());
  vi.setSystemTime(Date.now() + 20 * SECOND);

  isScheduled = true;
  const store = schedule(records, scheduler);
  const [web, worker] = [shop.start({}, {}, store), shop.start({}, {}, store)];
  const [first, second] = await scheduler.waitFor(
    Promise.all([
      web.charge('17', momo),
      worker.charge('17', { ...momo, phone: '055 000 1111' }),
      worker.sweep(),
      resolveIfUnresolved(web, reference),
    ]),
  );
  const made = shop.service.charges.length - (reference === undefined ? 0 : 1);
  expect(made).toBe(CAN_BEGIN.includes(beginning) ? 1 : 0);
  for (const { state } of [first, second]) expect(expectedStates(beginning)).toContain(state);
  for (const { payment } of shop.paid) expect(payment.key).toBe('17/1');
  web.payments.close();
  worker.payments.close();
}

/** A person has found the charge whose response was lost. */
async function resolveIfUnresolved({ journal }: OrderProcess, reference: string | undefined): Promise<void> {
  const entry = await journal.read('17/1');
  if (entry?.state !== 'unknown' || reference === undefined) return;
  await journal.resolve('17/1', { reference }, note);
}

test.each(beginnings)(
  'begins at most one payment in any order of steps: %s (property)',
  async (beginning) => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), (scheduler) => run(beginning, scheduler)),
      { numRuns: chooseSize(25, 60) },
    );
  },
);
