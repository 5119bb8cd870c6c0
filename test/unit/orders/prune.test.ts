import { beforeEach, expect, test, vi } from 'vitest';
import { type JournalStore, memoryStore, type RecordWrite } from '../../../src/journal/index.ts';
import { SECOND } from '../../helpers/fake-clock.ts';
import { momo, type OrderShop, openOrderShop } from '../../helpers/order-shop.ts';
import { wrapStore } from '../../helpers/wrapped-store.ts';

const DAY = 24 * 60 * 60 * SECOND;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
  return () => vi.useRealTimers();
});

interface Shop extends OrderShop {
  readonly writes: readonly RecordWrite[];
}

/** Opens a shop with an order whose payments ended so, a day ago. `writes` are the last ones of each record. */
async function openShop(ends: readonly ('declined' | 'refused')[]): Promise<Shop> {
  const records = memoryStore();
  const writes = new Map<string, RecordWrite>();
  const store: JournalStore = {
    ...records,
    write(key, change) {
      writes.set(key, { key, change: { ...change, expected: null } });
      return records.write(key, change);
    },
  };
  const shop = openOrderShop({ store });
  const { service, start } = shop;
  const { charge, sweep, payments } = start();
  for (const end of ends) {
    if (end === 'refused') service.fault('chargeMobileMoney', { kind: 'status', status: 400 });
    await charge('17', momo);
    if (end === 'declined') service.decline(service.charges.at(-1)?.reference ?? '');
    vi.setSystemTime(Date.now() + 20 * SECOND);
    await sweep();
  }
  payments.close();
  vi.setSystemTime(Date.now() + DAY);
  return { ...shop, writes: [...writes.values()] };
}

/** A process that makes so many steps on a store, and is then held up. */
class HeldProcess {
  readonly store: JournalStore;
  #left = 0;
  #go = Promise.withResolvers<void>();
  #held = Promise.withResolvers<void>();

  constructor(store: JournalStore) {
    this.store = wrapStore(store, async (_, run) => {
      while (this.#left === 0) {
        this.#held.resolve();
        await this.#go.promise;
      }
      this.#left--;
      return await run();
    });
  }

  /** Returns whether the work has ended. Otherwise the process is held up. */
  async run(steps: number, work: Promise<unknown>): Promise<boolean> {
    this.#left = steps;
    this.#held = Promise.withResolvers();
    this.#go.resolve();
    this.#go = Promise.withResolvers();
    return await Promise.race([work.then(() => true), this.#held.promise.then(() => false)]);
  }
}

const OTHER = { press: 'prune', prune: 'press' } as const;

/** One is held up after some steps, then the other. Then the first ends, then the other. */
async function pressAndPrune(
  { start, service, writes }: Shop,
  { first, steps, meanwhile }: { first: 'press' | 'prune'; steps: number; meanwhile: number },
) {
  const records = memoryStore();
  for (const { key, change } of writes) await records.write(key, change);
  const before = service.charges.length;
  const processes = { press: new HeldProcess(records), prune: new HeldProcess(records) };
  const web = start({}, {}, processes.press.store);
  const cron = start({}, {}, processes.prune.store);
  const work = {
    press: web.charge('17', momo),
    prune: cron.journal.prune({ before: Date.now() - DAY / 2, unfollowed: true }),
  };
  const run = (who: 'press' | 'prune', count: number) => processes[who].run(count, work[who]);
  const hasFirstEnded = await run(first, steps);
  const hasOtherEnded = await run(OTHER[first], meanwhile);
  for (const who of [first, OTHER[first]]) await run(who, Number.POSITIVE_INFINITY);
  // A process that knows only what is recorded finds the payment that was begun.
  const after = start({}, {}, records);
  const found = await after.charge('17', momo);
  for (const { payments } of [web, cron, after]) payments.close();
  const charges = service.charges.length - before;
  return { hasFirstEnded, hasOtherEnded, found, charges, pruned: await work.prune };
}

test.each([
  ['refused', ['refused']],
  ['declined, then refused', ['declined', 'refused']],
  ['declined twice', ['declined', 'declined']],
] as const)('charges an order once, pruned at any step of a press: %s', async (_, ends) => {
  const shop = await openShop(ends);
  const pruned = new Set<number>();
  for (const first of ['press', 'prune'] as const) {
    let isOver = false;
    for (let steps = 0; !isOver; steps++) {
      for (let meanwhile = 0, isNext = false; !isNext; meanwhile++) {
        const result = await pressAndPrune(shop, { first, steps, meanwhile });
        expect(result).toMatchObject({ charges: 1, found: { state: 'processing' } });
        pruned.add(result.pruned);
        isOver = result.hasFirstEnded;
        isNext = isOver || result.hasOtherEnded;
      }
    }
  }
  expect([...pruned].sort()).toEqual([0, 1]);
});
