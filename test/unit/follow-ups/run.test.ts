/** `run` sweeps until its signal or its client ends it, and survives everything else. */

import { describe, expect, test, vi } from 'vitest';
import { ClosedError, ConfigurationError, JournalError } from '../../../src/index.ts';
import { memoryStore } from '../../../src/stores/index.ts';
import { countDue } from '../../helpers/claims.ts';
import { catchError } from '../../helpers/service.ts';
import { MINUTE, SECOND, world } from '../../helpers/world.ts';
import { wrapStore } from '../../helpers/wrapped-store.ts';
import { always, chargeKey, findFollowUps, never } from './keys.ts';

test.each([
  ['nothing is due', 0],
  ['its own payment is due in ten minutes', 1],
])('run looks every 5 s for what others add while %s', async (_, count) => {
  const store = memoryStore();
  const claimDue = vi.spyOn(store, 'claimDue');
  const { shop, clock } = world({ store, client: { polling: { initialDelay: 10 * MINUTE } } });
  for (let order = 0; order < count; order++) await chargeKey(shop);
  void shop.followUps.run();
  await clock.pass(MINUTE);
  expect(claimDue).toHaveBeenCalledTimes(13);
});

test('run shares its checks with a wait of its process', async () => {
  const counts: number[] = [];
  for (const waits of [false, true]) {
    const { shop, service, clock, checks, finals } = world();
    service.settleAfter('next', 30 * SECOND, 'success');
    const reference = await chargeKey(shop);
    void shop.followUps.run();
    if (waits) await shop.payments.waitForFinalStatus(reference, { startedAt: Date.now() });
    await clock.pass(MINUTE);
    expect(finals).toHaveLength(1);
    counts.push(checks.length);
  }
  expect(counts[1]).toBeLessThanOrEqual((counts[0] ?? 0) + 1);
});

test('run goes on while a handler hangs, also after an error of the journal', async () => {
  let isAway = false;
  const finals: string[] = [];
  const store = wrapStore(memoryStore(), (_, run) =>
    isAway ? Promise.reject(new Error('ECONNRESET')) : run(),
  );
  const { shop, service, clock } = world({
    store,
    onFinal: ({ key }) => (finals.push(key) === 1 ? never() : undefined),
  });
  service.approve(await chargeKey(shop, 'order-1'));
  void shop.followUps.run();
  for (const key of ['order-2', 'order-3']) {
    await clock.pass(20 * SECOND);
    service.approve(await chargeKey(shop, key));
    await clock.pass(20 * SECOND);
    isAway = key === 'order-2';
    await clock.pass(MINUTE);
    isAway = false;
    await clock.pass(2 * MINUTE);
  }
  expect(finals).toEqual(['order-1', 'order-2', 'order-3']);
});

describe('at the end', () => {
  test('an aborted signal and a closed client read nothing', async () => {
    const store = memoryStore();
    const claimDue = vi.spyOn(store, 'claimDue');
    const { shop } = world({ store });
    expect(await shop.followUps.run({ signal: AbortSignal.abort('stop') })).toBeUndefined();
    await shop.payments.close();
    expect(await shop.followUps.run()).toBeUndefined();
    expect(await shop.orders.run()).toBeUndefined();
    expect(await catchError(shop.followUps.sweep())).toBeInstanceOf(ClosedError);
    expect(claimDue).not.toHaveBeenCalled();
  });

  test('close resolves the runs during a check, and the payment is due at once', async () => {
    const { shop, journal, clock, checks } = world({
      respond: ({ method }) => (method === 'GET' ? never() : undefined),
    });
    await chargeKey(shop);
    const running = [shop.followUps.run(), shop.orders.run()];
    await clock.pass(9 * SECOND);
    await shop.payments.close();
    expect(await Promise.all(running)).toEqual([undefined, undefined]);
    expect(checks).toHaveLength(1);
    expect(await countDue(journal)).toMatchObject({ due: 1 });
    expect(vi.getTimerCount()).toBe(0);
  });
});

/** Returns the pauses that were reported, in seconds. */
const findPauses = ({ events }: Pick<ReturnType<typeof world>, 'events'>) =>
  findFollowUps(events).flatMap(({ result, delay = 0 }) => (result === 'paused' ? [delay / SECOND] : []));

test.each([
  [401, /^AuthenticationError: /],
  [403, /^PermissionError: /],
])('a %d is an event, and a pause that doubles from 30 s to 5 minutes', async (status, error) => {
  const made = world();
  const { shop, service, clock, finals, attentions } = made;
  const reference = await chargeKey(shop);
  service.fault('verify', { kind: 'status', status }, always);
  void shop.followUps.run();
  await clock.pass(16 * MINUTE);
  expect(findPauses(made)).toEqual([30, 60, 120, 240, 300, 300]);
  expect(findFollowUps(made.events)[0]?.error).toMatch(error);
  expect(attentions).toEqual([]);
  service.clearFaults();
  service.approve(reference);
  await clock.pass(6 * MINUTE);
  expect(finals).toMatchObject([{ key: 'order-1', status: 'success' }]);
});

describe('a journal that is away', () => {
  function openAway(fail: () => Promise<never>) {
    const state = { isAway: true };
    const store = wrapStore(memoryStore(), ({ method }, run) =>
      state.isAway && method === 'claimDue' ? fail() : run(),
    );
    const made = world({ store });
    void made.shop.followUps.run();
    return { ...made, state };
  }

  test('is an event, and a pause that doubles from 1 s to a minute', async () => {
    const made = openAway(() => Promise.reject(new JournalError('away', { retryable: true })));
    const { state, shop, service, clock, finals, events } = made;
    service.approve(await chargeKey(shop));
    await clock.pass(3 * MINUTE);
    expect(findPauses(made)).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    const error = expect.stringContaining('away');
    expect(findFollowUps(events)[0]).toMatchObject({ result: 'paused', error });
    state.isAway = false;
    await clock.pass(MINUTE);
    expect(finals).toHaveLength(1);
    state.isAway = true;
    await clock.pass(10 * SECOND);
    expect(findPauses(made).slice(8, 10)).toEqual([1, 2]);
  });

  test('is waited for 15 s at most', async () => {
    const { clock, events } = openAway(never);
    await clock.pass(15 * SECOND);
    const error = expect.stringContaining('no response within');
    expect(findFollowUps(events)[0]).toMatchObject({ result: 'paused', error });
  });
});

test('run and sweep reject if the store cannot claim what is due', async () => {
  const { read, write } = memoryStore();
  const { shop, clock } = world({ store: { read, write } });
  const { followUps } = shop;
  for (const call of [followUps.run, followUps.sweep]) {
    const error = await Promise.race([catchError(call()), clock.pass(MINUTE)]);
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toHaveProperty('message', expect.stringContaining('claimDue'));
  }
});

test.each([{ signal: {} }, { budget: 1_000 }, 'soon', null])('run refuses the option %o', async (options) => {
  const { run } = world().shop.followUps;
  expect(await catchError(Reflect.apply(run, undefined, [options]))).toBeInstanceOf(ConfigurationError);
});
