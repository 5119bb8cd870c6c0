import { beforeEach, describe, expect, test, vi } from 'vitest';
import { nextDelay } from '../../../src/schedule.ts';
import { memoryJournal, memoryStore } from '../../../src/stores/index.ts';
import { MINUTE, SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { finish, loseCharge, openShop, sweepFor } from '../../helpers/follow-ups.ts';
import { createHangingStore } from '../../helpers/hanging-store.ts';

beforeEach(() => {
  fakeClocks();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

describe('128 handlers that hang', () => {
  /** Opens a shop with 128 payments that are paid, and one that is under way. */
  async function openBusyShop() {
    const openedAt = Date.now();
    const shop = openShop();
    for (let order = 1; order <= 128; order++)
      shop.service.approve(await finish(shop.charge(`hangs-${order}`)));
    const reference = await finish(shop.charge('order-1'));
    const chargedAt = Date.now() - openedAt;
    const onFinal = () => new Promise<void>(() => {});
    return { shop, reference, chargedAt, onFinal };
  }

  const polling = { maxConcurrency: 32, maxRequestsPerSecond: 1_000 };

  test.each(['sweep', 'run'] as const)('hold back no check of another payment: %s', async (way) => {
    const { shop, reference, chargedAt, onFinal } = await openBusyShop();
    await pass(8 * SECOND);
    shop.start({ onFinal }, { polling })[way]();
    await pass(50 * SECOND, 100);
    const times = shop.gets.flatMap((get) => (get.reference === reference ? [get.at - chargedAt] : []));
    expect(shop.gets).toHaveLength(128 + times.length);
    expect(times[0]).toBeLessThan(9 * SECOND);
    expect(times.length).toBeGreaterThanOrEqual(8);
    for (const [index, at] of times.slice(0, -1).entries()) {
      const late = (times[index + 1] ?? 0) - at - (nextDelay({ elapsed: at }) ?? 0);
      // While handlers run, what is due is claimed each second.
      expect(late).toBeLessThanOrEqual(1_100);
    }
  });

  test('hold back no handler of another sweeper, nor one of their own for a minute', async () => {
    const { shop, reference, onFinal } = await openBusyShop();
    const finals: string[] = [];
    const own = ({ key }: { key: string }) => (key === 'order-1' ? finals.push(key) : onFinal());
    shop.start({ onFinal: own }, { polling }).run();
    await pass(20 * SECOND, 100);
    shop.service.approve(reference);
    await pass(2 * MINUTE, 500);
    expect(finals).toEqual(['order-1']);
  });
});

describe('a call of a handler that is owed', () => {
  const sides = ['before', 'after'] as const;
  const steps = sides.flatMap((side) => [0, 1, 2, 3].map((step) => [side, step] as const));

  /** Sweeps in a process that dies before or after a step of its database, and returns whether it lived so long. */
  async function sweepAndDie(shop: ReturnType<typeof openShop>, side: 'before' | 'after', at: number) {
    const { store, hang } = createHangingStore(shop.store);
    let hasDied = false;
    let count = 0;
    const journal = memoryJournal({
      store: new Proxy(store, {
        get(target, name) {
          const step: unknown = Reflect.get(target, name);
          if (typeof step !== 'function') return step;
          return async (...values: unknown[]) => {
            const dies = count++ === at;
            hasDied ||= dies;
            if (dies && side === 'before') hang(() => true);
            const result: unknown = await Reflect.apply(step, target, values);
            if (dies) hang(() => true);
            return hasDied ? new Promise(() => {}) : result;
          };
        },
      }),
    });
    shop
      .start({}, {}, journal)
      .sweep()
      .catch(() => {});
    await pass(5 * SECOND, 100);
    return hasDied;
  }

  test.each(steps)('is made although a process died %s its step %d', async (side, step) => {
    const shop = openShop();
    shop.service.approve(await finish(shop.charge('order-1')));
    await loseCharge(shop, 'order-2');
    await pass(8 * SECOND);
    expect(await sweepAndDie(shop, side, step)).toBe(true);
    await sweepFor(2 * MINUTE, shop.start());
    expect(new Set(shop.finals.map(({ key }) => key))).toEqual(new Set(['order-1']));
    expect(new Set(shop.attentions.map(({ reason }) => reason))).toEqual(new Set(['unresolved']));
    expect(shop.finals.length).toBeLessThanOrEqual(2);
    expect(shop.attentions.length).toBeLessThanOrEqual(2);
  });

  test('is made after weeks, and nothing deletes its record before', async () => {
    const store = memoryStore();
    const shop = openShop({ store });
    shop.service.approve(await finish(shop.charge('order-1')));
    const onFinal = () => Promise.reject(new Error('the shop is away'));
    const failing = shop.start({ onFinal });
    await sweepFor(MINUTE, failing);
    await pass(30 * 24 * 60 * MINUTE, 24 * 60 * MINUTE);
    expect(await finish(failing.journal.prune({ before: Date.now() }))).toBe(0);
    const followUps = shop.start();
    await finish(followUps.sweep());
    expect(shop.finals).toMatchObject([{ key: 'order-1', status: 'success' }]);
    expect(shop.gets).toHaveLength(1);
    expect(await finish(followUps.journal.prune({ before: Date.now() }))).toBe(1);
  });
});
