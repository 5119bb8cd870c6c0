import { beforeEach, describe, expect, test, vi } from 'vitest';
import { ConfigurationError, JournalError } from '../../../src/index.ts';
import { getRecords } from '../../../src/journal/core.ts';
import { type Journal, memoryJournal } from '../../../src/stores/index.ts';
import { countDue } from '../../helpers/claims.ts';
import { SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { finish, openShop } from '../../helpers/follow-ups.ts';
import { createHangingStore } from '../../helpers/hanging-store.ts';
import { catchError } from '../../helpers/service.ts';

beforeEach(() => {
  fakeClocks();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

/** Opens a shop with so many payments that are paid, at a service that takes `latency` milliseconds for a GET. */
async function openPaidShop(count: number, latency: number, openJournal?: () => Journal) {
  const shop = openShop({
    ...(openJournal ? { openJournal } : {}),
    async intercept({ method }) {
      if (method === 'GET') await new Promise((resolve) => setTimeout(resolve, latency));
      return undefined;
    },
  });
  for (let order = 1; order <= count; order++) {
    shop.service.approve(await finish(shop.charge(`order-${order}`)));
  }
  await pass(8 * SECOND);
  return shop;
}

const polling = { maxConcurrency: 10, maxRequestsPerSecond: 10_000 };

describe('budget', () => {
  test('ends the sweep in time, and the next one goes on', async () => {
    const shop = await openPaidShop(100, SECOND);
    const { sweep } = shop.start({}, { polling });
    const startedAt = Date.now();
    const first = await finish(sweep({ budget: 5 * SECOND }));
    expect(Date.now() - startedAt).toBeLessThanOrEqual(5 * SECOND + 50);
    expect(first.final).toBeGreaterThanOrEqual(30);
    expect(first).toMatchObject({ checked: first.final, due: 100 - first.final });
    expect(first.nextAt).toBeLessThanOrEqual(Date.now());
    const second = await finish(sweep());
    expect(first.final + second.final).toBe(100);
    expect(shop.finals).toHaveLength(100);
    // What was in flight had time to end.
    expect(shop.gets).toHaveLength(100);
  });

  test('ends checks that are still in flight, and they are due at once', async () => {
    const shop = await openPaidShop(3, 20 * SECOND);
    const { sweep, journal } = shop.start({}, { polling });
    expect(await finish(sweep({ budget: 5 * SECOND }))).toMatchObject({ checked: 0, final: 0, due: 3 });
    expect(await journal.read('order-1')).toMatchObject({ checkedAt: undefined });
    expect(await finish(sweep())).toMatchObject({ checked: 3, final: 3, due: 0 });
  });

  test('leaves no timer behind', async () => {
    const shop = await openPaidShop(3, 10);
    await finish(shop.start({}, { polling }).sweep({ budget: 5 * SECOND }));
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([0, -1, Number.NaN, '20000', Number.POSITIVE_INFINITY, 2 ** 31, null])(
    'cannot be %o',
    async (budget) => {
      const { sweep } = openShop().start();
      const error = await catchError(Reflect.apply(sweep, undefined, [{ budget }]));
      expect(error).toBeInstanceOf(ConfigurationError);
    },
  );
});

describe('budget, while the database hangs', () => {
  /** Opens a shop whose database does not respond at one step, from a moment on. */
  async function openHangingShop(step: 'write' | 'claimDue' | 'countDue', handlerTime = 0) {
    const { store, hang } = createHangingStore();
    const openJournal = () => memoryJournal({ store });
    const shop = await openPaidShop(3, 100, openJournal);
    const onFinal = () => new Promise((resolve) => setTimeout(resolve, handlerTime));
    const { sweep } = shop.start({ onFinal }, { polling });
    hang(({ method }) => method === step);
    return sweep;
  }

  test.each(['write', 'claimDue', 'countDue'] as const)(
    'is kept, and the sweep rejects with JournalError: %s',
    async (step) => {
      const sweep = await openHangingShop(step);
      const startedAt = Date.now();
      const error = await finish(catchError(sweep({ budget: SECOND })));
      expect(error).toBeInstanceOf(JournalError);
      expect(error).toHaveProperty('message', expect.stringContaining('budget'));
      expect(Date.now() - startedAt).toBeLessThanOrEqual(SECOND + 10);
    },
  );

  test('is exceeded by handlers that were called, and by a second', async () => {
    const sweep = await openHangingShop('countDue', 10 * SECOND);
    const startedAt = Date.now();
    expect(await finish(catchError(sweep({ budget: SECOND })))).toBeInstanceOf(JournalError);
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(10 * SECOND);
    expect(Date.now() - startedAt).toBeLessThan(12 * SECOND);
  });
});

describe('the end of the budget', () => {
  test('cuts off no check that waited at the rate limit: each is sent once', async () => {
    const shop = await openPaidShop(60, 500);
    const { sweep } = shop.start({}, { polling: { maxRequestsPerSecond: 10 } });
    for (let sweeps = 0; sweeps < 10; sweeps++) await finish(sweep({ budget: 3 * SECOND }));
    expect(shop.finals).toHaveLength(60);
    expect(shop.gets).toHaveLength(60);
  });

  test('keeps 3 s of a long budget for what is in flight, not a fifth', async () => {
    const shop = await openPaidShop(1, 100);
    const onFinal = () => new Promise((resolve) => setTimeout(resolve, 59 * SECOND));
    const { sweep } = shop.start({ onFinal }, { polling });
    const sweeping = sweep({ budget: 60 * SECOND });
    await pass(42 * SECOND);
    const late = await finish(shop.charge('late'));
    shop.service.approve(late);
    await finish(sweeping);
    expect(shop.gets.filter(({ reference }) => reference === late)).toHaveLength(1);
  });
});

describe('signal', () => {
  test('ends the sweep with its reason, and what was in flight is due at once', async () => {
    const shop = await openPaidShop(3, 20 * SECOND);
    const { sweep, journal } = shop.start({}, { polling });
    const stop = new AbortController();
    const sweeping = catchError(sweep({ signal: stop.signal }));
    await pass(SECOND);
    stop.abort('deploy');
    expect(await finish(sweeping)).toBe('deploy');
    expect(await countDue(journal)).toMatchObject({ due: 3 });
  });

  test('reads nothing if it is aborted already', async () => {
    const shop = await openPaidShop(1, 0);
    const { sweep, journal } = shop.start();
    const claimDue = vi.spyOn(getRecords(journal), 'claimDue');
    expect(await catchError(sweep({ signal: AbortSignal.abort('stop') }))).toBe('stop');
    expect(claimDue).not.toHaveBeenCalled();
  });

  test('lets a handler that was called end, and records it', async () => {
    const shop = await openPaidShop(1, 0);
    let isDone = false;
    const { sweep, journal } = shop.start({
      async onFinal() {
        await new Promise((resolve) => setTimeout(resolve, 10 * SECOND));
        isDone = true;
      },
    });
    const stop = new AbortController();
    const sweeping = catchError(sweep({ signal: stop.signal }));
    await pass(SECOND, 50);
    stop.abort('deploy');
    expect(await finish(sweeping)).toBe('deploy');
    expect(isDone).toBe(true);
    expect(await countDue(journal)).toEqual({ due: 0, nextIn: null });
  });
});

describe('memory', () => {
  test('holds no more records at once than maxConcurrency, and 64 in handlers', async () => {
    const shop = await openPaidShop(150, 100);
    let [running, most] = [0, 0];
    const { sweep, journal } = shop.start(
      {
        async onFinal() {
          most = Math.max(most, ++running);
          await new Promise((resolve) => setTimeout(resolve, 10 * SECOND));
          running -= 1;
        },
      },
      { polling },
    );
    const limits: number[] = [];
    const records = getRecords(journal);
    const claimDue = records.claimDue.bind(records);
    vi.spyOn(records, 'claimDue').mockImplementation((claim) => {
      limits.push(claim.limit);
      return claimDue(claim);
    });
    expect(await finish(sweep())).toMatchObject({ final: 150 });
    expect(Math.max(...limits)).toBe(10);
    expect(most).toBeGreaterThan(60);
    expect(most).toBeLessThanOrEqual(74);
  });
});
