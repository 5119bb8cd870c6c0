/** What a sweep checks, delivers and returns, and how its budget and its signal end it. */

import { describe, expect, test, vi } from 'vitest';
import { ConfigurationError, JournalError } from '../../../src/index.ts';
import { createJournal, memoryStore } from '../../../src/stores/index.ts';
import { countDue } from '../../helpers/claims.ts';
import { sleep } from '../../helpers/clock.ts';
import { API_KEY, catchError } from '../../helpers/service.ts';
import { MINUTE, page, SECOND, slow, sweepFor, world } from '../../helpers/world.ts';
import { wrapStore } from '../../helpers/wrapped-store.ts';
import { chargeKey, never, openPaid, toPauses } from './keys.ts';

const nothing = { checked: 0, final: 0, due: 0, nextAt: null };
const polling = { maxConcurrency: 10, maxRequestsPerSecond: 10_000 };

test('a sweep delivers once what became final, and returns what is left', async () => {
  const { shop, service, clock, journal, finals, checks } = world();
  const { sweep } = shop.followUps;
  expect(await sweep()).toEqual(nothing);
  const chargedAt = Date.now();
  const reference = await chargeKey(shop);
  expect(await sweep()).toEqual({ ...nothing, nextAt: chargedAt + 8 * SECOND });
  await clock.pass(8 * SECOND);
  service.approve(reference);
  expect(await sweep()).toEqual({ ...nothing, checked: 1, final: 1 });
  const transaction = { status: 'success', customer_email: page.customer_email };
  expect(finals).toMatchObject([{ key: 'order-1', reference, transaction }]);
  await clock.pass(MINUTE);
  expect(await sweep()).toEqual(nothing);
  expect(checks).toHaveLength(1);
  expect(await journal.read('order-1')).toMatchObject({ status: 'success', nextCheckAt: undefined });
});

describe('checks', () => {
  test('come at the times of the polling options', async () => {
    const schedule = { initialDelay: 2_000, minDelay: 2_000, maxDelay: 2_000, timeout: 10_000 };
    const { shop, checks } = world({ client: { polling: schedule } });
    await chargeKey(shop);
    await sweepFor(9_900, shop.followUps);
    expect(checks.map(({ at }) => Math.round(at / 100) * 100)).toEqual([2_000, 4_000, 6_000]);
  });

  test('begin at the deadline, if that is before the first delay', async () => {
    const { shop, checks } = world({ client: { polling: { initialDelay: MINUTE, timeout: 20 * SECOND } } });
    await chargeKey(shop);
    await sweepFor(30 * SECOND, shop.followUps);
    expect(checks.map(({ at }) => Math.round(at / SECOND))).toEqual([20]);
  });

  test.each([
    [3, 8],
    [20, 20],
  ])('begin, after a POST of %d s, once %d s have passed', async (duration, expected) => {
    const { shop, checks } = world({ respond: slow('POST', duration * SECOND) });
    await chargeKey(shop);
    await sweepFor((expected + 1 - duration) * SECOND, shop.followUps);
    expect(checks.map(({ at }) => Math.round(at / 100) / 10)).toEqual([expected]);
  });

  test.each([200, 429, 503])('wait for the Retry-After of a %d', async (status) => {
    const { shop, checks } = world({
      async respond({ method }, handle) {
        if (method === 'POST' || checks.length > 1) return undefined;
        return new Response(await (await handle()).text(), { status, headers: { 'retry-after': '40' } });
      },
    });
    await chargeKey(shop);
    await sweepFor(55 * SECOND, shop.followUps);
    expect(toPauses(checks)[0]).toBe(40);
  });

  test('pause for a 429, as waits do, and each payment is checked once', async () => {
    const { shop, service, checks, finals } = await openPaid(20, {
      client: { polling: { maxConcurrency: 2 } },
    });
    service.fault('verify', { kind: 'rateLimited', retryAfter: 7_000 });
    await sweepFor(2 * MINUTE, shop.followUps);
    expect([finals.length, checks.length]).toEqual([20, 21]);
    expect(toPauses(checks).filter((pause) => pause >= 6)).toHaveLength(1);
  });

  test('are recorded in one write, also if they end in different turns', async () => {
    const store = memoryStore();
    const groups: number[] = [];
    const writeAll = async (writes: readonly Parameters<typeof store.write>[]) => {
      groups.push(writes.length);
      return await Promise.all(writes.map((write) => store.write(...write)));
    };
    const journal = createJournal({
      ...store,
      writeAll: (writes) => writeAll(writes.map(({ key, change }) => [key, change])),
    });
    const { shop, clock, checks } = world({
      journal,
      async respond({ method }) {
        if (method === 'GET') for (let turns = checks.length; turns > 0; turns--) await null;
        return undefined;
      },
    });
    for (let order = 1; order <= 5; order++) await chargeKey(shop, `order-${order}`);
    await clock.pass(9 * SECOND);
    groups.length = 0;
    expect(await shop.followUps.sweep()).toMatchObject({ checked: 5, due: 0 });
    expect(groups).toEqual([5]);
  });

  test('in flight are recorded and told although the journal took another one not', async () => {
    let isDown = false;
    const store = wrapStore(memoryStore(), ({ method }, run) =>
      isDown && method.startsWith('write') ? Promise.reject(new Error('read only')) : run(),
    );
    const { shop, clock, finals } = await openPaid(2, {
      store,
      async respond({ method, url }) {
        if (method === 'GET' && url.endsWith('TXN-000002')) await sleep(5 * SECOND);
        return undefined;
      },
    });
    isDown = true;
    const sweeping = catchError(shop.followUps.sweep());
    await clock.pass(2 * SECOND);
    isDown = false;
    expect(await sweeping).toBeInstanceOf(JournalError);
    expect(finals).toMatchObject([{ key: 'order-2' }]);
  });

  test('are recorded and followed by the next ones while another one hangs', async () => {
    const hanging = Promise.withResolvers<void>();
    const { shop, journal, clock, checks } = await openPaid(8, {
      client: { polling: { maxConcurrency: 4 } },
      async respond({ url }) {
        if (url.endsWith('TXN-000001')) await hanging.promise;
        return undefined;
      },
    });
    const sweeping = shop.followUps.sweep();
    await clock.pass(SECOND);
    expect(await journal.read('order-1')).toMatchObject({ checkedAt: undefined });
    expect(await journal.read('order-2')).toMatchObject({ checkedAt: expect.any(Number) });
    expect(checks).toHaveLength(8);
    hanging.resolve();
    expect(await sweeping).toMatchObject({ checked: 8, final: 8, due: 0 });
  });
});

describe('the budget', () => {
  test('begins no check in its last fifth, also of what was claimed before', async () => {
    let isSlow = false;
    const apiKey = async () => {
      if (isSlow) {
        isSlow = false;
        await sleep(4_200);
      }
      return API_KEY;
    };
    const { shop, checks } = await openPaid(3, { client: { apiKey } });
    isSlow = true;
    expect(await shop.followUps.sweep({ budget: 5 * SECOND })).toMatchObject({ checked: 0, due: 3 });
    expect(checks).toEqual([]);
  });

  test('ends the sweep in time, and the next one goes on', async () => {
    const { shop, clock, checks, finals } = await openPaid(100, {
      client: { polling },
      respond: slow('GET', SECOND),
    });
    const { sweep } = shop.followUps;
    const startedAt = clock.now;
    const first = await sweep({ budget: 5 * SECOND });
    expect(clock.now - startedAt).toBeLessThanOrEqual(5 * SECOND);
    expect(first.final).toBeGreaterThanOrEqual(30);
    expect(first).toMatchObject({ checked: first.final, due: 100 - first.final });
    expect(first.nextAt).toBeLessThanOrEqual(Date.now());
    expect(vi.getTimerCount()).toBe(0);
    const second = await sweep();
    expect(first.final + second.final).toBe(100);
    // What was in flight had time to end.
    expect([finals.length, checks.length]).toEqual([100, 100]);
  });

  test('ends checks that are in flight, and they are due at once', async () => {
    const { shop, journal } = await openPaid(3, { respond: slow('GET', 20 * SECOND) });
    const { sweep } = shop.followUps;
    expect(await sweep({ budget: 5 * SECOND })).toMatchObject({ checked: 0, final: 0, due: 3 });
    expect(await journal.read('order-1')).toMatchObject({ checkedAt: undefined });
    expect(await sweep()).toMatchObject({ checked: 3, final: 3, due: 0 });
  });

  test('cuts off no check that waits at the rate limit: each is sent once', async () => {
    const { shop, checks, finals } = await openPaid(60, {
      client: { polling: { maxRequestsPerSecond: 10 } },
      respond: slow('GET', SECOND / 2),
    });
    for (let sweeps = 0; sweeps < 10; sweeps++) await shop.followUps.sweep({ budget: 3 * SECOND });
    expect([finals.length, checks.length]).toEqual([60, 60]);
  });

  test('is exceeded for handlers that were called, until that is recorded', async () => {
    const store = wrapStore(memoryStore(), async ({ method }, run) => {
      if (method.startsWith('write')) await sleep(SECOND / 2);
      return await run();
    });
    const { shop, clock, journal } = await openPaid(1, { store, onFinal: () => sleep(MINUTE) });
    const startedAt = clock.now;
    const done = { final: 1, due: 0, nextAt: null };
    await expect(shop.followUps.sweep({ budget: 5 * SECOND })).resolves.toMatchObject(done);
    expect(clock.now - startedAt).toBeGreaterThanOrEqual(MINUTE);
    expect(await countDue(journal)).toEqual({ due: 0, nextIn: null });
  });

  test.each([
    ['write', 0, 1, 'within the budget'],
    ['claimDue', 0, 1, 'within the budget'],
    ['countDue', 0, 1, 'within the budget'],
    ['countDue', 10, 11, 'did not respond'],
  ])(
    'holds if %s hangs, and handlers take %d s: the sweep rejects',
    async (step, handlerTime, seconds, message) => {
      let isHung = false;
      const store = wrapStore(memoryStore(), ({ method }, run) =>
        isHung && method === step ? never() : run(),
      );
      const { shop, clock } = await openPaid(3, { store, onFinal: () => sleep(handlerTime * SECOND) });
      isHung = true;
      const startedAt = clock.now;
      const error = await catchError(shop.followUps.sweep({ budget: SECOND }));
      expect(error).toBeInstanceOf(JournalError);
      expect(error).toHaveProperty('message', expect.stringContaining(message));
      expect(clock.now - startedAt).toBeGreaterThanOrEqual(handlerTime * SECOND);
      expect(clock.now - startedAt).toBeLessThanOrEqual(seconds * SECOND);
    },
  );

  test.each([0, -1, Number.NaN, '20000', Number.POSITIVE_INFINITY, 2 ** 31, null])(
    'cannot be %o',
    async (budget) => {
      const { sweep } = world().shop.followUps;
      const error = await catchError(Reflect.apply(sweep, undefined, [{ budget }]));
      expect(error).toBeInstanceOf(ConfigurationError);
    },
  );
});

describe('a signal', () => {
  test('ends the sweep with its reason, and what was in flight is due at once', async () => {
    const { shop, journal, clock, checks } = await openPaid(3, { respond: slow('GET', 20 * SECOND) });
    const { sweep } = shop.followUps;
    expect(await catchError(sweep({ signal: AbortSignal.abort('stop') }))).toBe('stop');
    const stop = new AbortController();
    const sweeping = catchError(sweep({ signal: stop.signal }));
    await clock.pass(SECOND);
    stop.abort('deploy');
    expect(await sweeping).toBe('deploy');
    expect(checks).toHaveLength(3);
    expect(await countDue(journal)).toMatchObject({ due: 3 });
  });

  test('ends the sweep soon while the journal hangs', async () => {
    const claimDue = never;
    const { shop, clock } = world({ store: { ...memoryStore(), claimDue } });
    const stop = new AbortController();
    const sweeping = catchError(shop.followUps.sweep({ signal: stop.signal }));
    stop.abort('deploy');
    expect(await sweeping).toBe('deploy');
    expect(clock.now).toBeLessThanOrEqual(2 * SECOND);
  });

  test('lets a handler that was called end, and calls none after that', async () => {
    const stop = new AbortController();
    let ended = 0;
    const onFinal = async () => {
      stop.abort('deploy');
      await sleep(10 * SECOND);
      ended += 1;
    };
    const { shop, journal } = await openPaid(65, { onFinal });
    expect(await catchError(shop.followUps.sweep({ signal: stop.signal }))).toBe('deploy');
    const { due } = await countDue(journal);
    expect(ended).toBeGreaterThan(0);
    expect(due + ended).toBe(65);
    expect(await shop.followUps.sweep()).toMatchObject({ due: 0 });
    expect(ended).toBe(65);
  });
});

test('an abort that comes before the end of the budget is what a sweep rejects with', async () => {
  const stop = new AbortController();
  const store = wrapStore(memoryStore(), ({ method }, run) => {
    if (method !== 'countDue') return run();
    setTimeout(() => stop.abort('deploy'), SECOND / 2);
    return never();
  });
  const { shop, clock } = await openPaid(1, { store });
  const startedAt = clock.now;
  expect(await catchError(shop.followUps.sweep({ budget: SECOND, signal: stop.signal }))).toBe('deploy');
  expect(clock.now - startedAt).toBe(SECOND);
});

test('an aborted sweep calls no handler that still waits for others', async () => {
  const stop = new AbortController();
  const gate = Promise.withResolvers<void>();
  let called = 0;
  const onFinal = () => {
    called += 1;
    return gate.promise;
  };
  const { shop, clock } = await openPaid(65, { onFinal });
  const sweeping = catchError(shop.followUps.sweep({ signal: stop.signal }));
  await clock.pass(10 * SECOND);
  expect(called).toBe(64);
  stop.abort('deploy');
  gate.resolve();
  expect(await sweeping).toBe('deploy');
  expect(called).toBe(64);
});

test('a sweep holds no more records at once than its handlers and checks', async () => {
  let [running, most] = [0, 0];
  const store = memoryStore();
  const claimDue = vi.spyOn(store, 'claimDue');
  const { shop } = await openPaid(150, {
    store,
    client: { polling },
    respond: slow('GET', 100),
    async onFinal() {
      most = Math.max(most, ++running);
      await sleep(10 * SECOND);
      running -= 1;
    },
  });
  expect(await shop.followUps.sweep()).toMatchObject({ final: 150 });
  expect(Math.max(...claimDue.mock.calls.map(([{ limit }]) => limit))).toBe(10);
  // Longer than one check, which takes 30 s at most.
  for (const [{ lease }] of claimDue.mock.calls) expect(lease).toBe(40 * SECOND);
  expect(most).toBe(64);
});
