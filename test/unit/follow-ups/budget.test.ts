import { beforeEach, describe, expect, test, vi } from 'vitest';
import { ConfigurationError } from '../../../src/index.ts';
import { SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { finish, openShop } from '../../helpers/follow-ups.ts';
import { catchError } from '../../helpers/service.ts';

beforeEach(() => {
  fakeClocks();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

/** Opens a shop with so many payments that are paid, at a service that takes `latency` milliseconds for a GET. */
async function openPaidShop(count: number, latency: number) {
  const shop = openShop({
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
    expect((await journal.read('order-1'))?.followUp?.checks).toBe(0);
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

describe('signal', () => {
  test('ends the sweep with its reason, and what was in flight is due at once', async () => {
    const shop = await openPaidShop(3, 20 * SECOND);
    const { sweep, journal } = shop.start({}, { polling });
    const stop = new AbortController();
    const sweeping = catchError(sweep({ signal: stop.signal }));
    await pass(SECOND);
    stop.abort('deploy');
    expect(await finish(sweeping)).toBe('deploy');
    expect(await journal.followUps.countDue()).toMatchObject({ due: 3 });
  });

  test('reads nothing if it is aborted already', async () => {
    const shop = await openPaidShop(1, 0);
    const { sweep, journal } = shop.start();
    const claimDue = vi.spyOn(journal.followUps, 'claimDue');
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
    expect(await journal.read('order-1')).toMatchObject({ followUp: { ended: 'delivered' } });
  });
});

describe('memory', () => {
  test('holds no more records at once than maxConcurrency, and 64 in handlers', async () => {
    const shop = await openPaidShop(300, 100);
    let [running, most] = [0, 0];
    const { sweep, journal } = shop.start(
      {
        async onFinal() {
          most = Math.max(most, ++running);
          await new Promise((resolve) => setTimeout(resolve, 60 * SECOND));
          running -= 1;
        },
      },
      { polling },
    );
    const limits: number[] = [];
    const { claimDue } = journal.followUps;
    vi.spyOn(journal.followUps, 'claimDue').mockImplementation((claim) => {
      limits.push(claim.limit);
      return claimDue(claim);
    });
    expect(await finish(sweep())).toMatchObject({ final: 300 });
    expect(Math.max(...limits)).toBe(10);
    expect(most).toBeGreaterThan(60);
    expect(most).toBeLessThanOrEqual(74);
  });
});
