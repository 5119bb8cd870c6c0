import { beforeEach, describe, expect, test, vi } from 'vitest';
import { ClosedError, ConfigurationError, JournalError } from '../../../src/index.ts';
import { getRecords } from '../../../src/journal/core.ts';
import { createJournal, memoryJournal, memoryStore } from '../../../src/stores/index.ts';
import { countDue } from '../../helpers/claims.ts';
import { MINUTE, SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { findFollowUpEvents, finish, getTimes, openShop } from '../../helpers/follow-ups.ts';
import { createHangingStore } from '../../helpers/hanging-store.ts';
import { openOrderShop } from '../../helpers/order-shop.ts';
import { catchError } from '../../helpers/service.ts';

beforeEach(() => {
  fakeClocks();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

test('checks and delivers each payment when it is due', async () => {
  const shop = openShop();
  const { run } = shop.start();
  const stop = new AbortController();
  const running = run({ signal: stop.signal });
  await pass(3 * SECOND, 50);
  shop.service.settleAfter('next', 40 * SECOND, 'success');
  shop.service.settleAfter('next', 5 * SECOND, 'failed');
  for (const key of ['order-1', 'order-2']) await finish(shop.charge(key));
  await pass(MINUTE, 50);
  expect(shop.finals).toMatchObject([
    { key: 'order-2', status: 'failed' },
    { key: 'order-1', status: 'success' },
  ]);
  // It learns of them at most 5 s late.
  expect(shop.finals[0]?.at).toBeLessThan(16.5 * SECOND);
  stop.abort();
  expect(await finish(running)).toBeUndefined();
  expect(vi.getTimerCount()).toBe(0);
});

test('checks at the times of the schedule', async () => {
  const shop = openShop();
  await finish(shop.charge('order-1'));
  const stop = new AbortController();
  const running = shop.start().run({ signal: stop.signal });
  await pass(20 * SECOND, 10);
  expect(getTimes(shop).map((at) => Math.round(at / 100) / 10)).toEqual(
    [8, 11, 14, 17.5].map((at) => expect.closeTo(at, 0)),
  );
  stop.abort();
  await finish(running);
});

test('looks for what others add every 5 s', async () => {
  const shop = openShop();
  const { run, journal } = shop.start();
  const claimDue = vi.spyOn(getRecords(journal), 'claimDue');
  const stop = new AbortController();
  const running = run({ signal: stop.signal });
  await pass(MINUTE, 100);
  expect(claimDue.mock.calls.length).toBeGreaterThanOrEqual(12);
  expect(claimDue.mock.calls.length).toBeLessThanOrEqual(13);
  stop.abort();
  await finish(running);
});

test('resolves at once if its signal is aborted', async () => {
  const { run, journal } = openShop().start();
  const claimDue = vi.spyOn(getRecords(journal), 'claimDue');
  expect(await run({ signal: AbortSignal.abort('stop') })).toBeUndefined();
  expect(claimDue).not.toHaveBeenCalled();
});

test('resolves after the handlers that were called have ended', async () => {
  const shop = openShop();
  shop.service.approve(await finish(shop.charge('order-1')));
  let isDone = false;
  const { run, journal } = shop.start({
    async onFinal() {
      await new Promise((resolve) => setTimeout(resolve, 10 * SECOND));
      isDone = true;
    },
  });
  const stop = new AbortController();
  const running = run({ signal: stop.signal });
  await pass(9 * SECOND, 50);
  stop.abort();
  await finish(running);
  expect(isDone).toBe(true);
  expect(await countDue(journal)).toEqual({ due: 0, nextIn: null });
});

test('goes on while a handler hangs', async () => {
  const shop = openShop();
  shop.service.approve(await finish(shop.charge('order-1')));
  const finals: string[] = [];
  const { run } = shop.start({
    onFinal({ key }) {
      finals.push(key);
      return key === 'order-1' ? new Promise(() => {}) : undefined;
    },
  });
  run();
  await pass(20 * SECOND, 100);
  shop.service.approve(await finish(shop.charge('order-2')));
  await pass(20 * SECOND, 100);
  expect(finals).toEqual(['order-1', 'order-2']);
});

describe('close', () => {
  test('resolves the run while it sleeps', async () => {
    const { run, payments } = openShop().start();
    const running = run();
    await pass(SECOND, 50);
    payments.close();
    expect(await finish(running)).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('resolves the run during a check, and the payment is due at once', async () => {
    const shop = openShop({
      intercept: ({ method }) => (method === 'GET' ? new Promise(() => {}) : Promise.resolve(undefined)),
    });
    await finish(shop.charge('order-1'));
    const { run, payments, journal } = shop.start();
    const running = run();
    await pass(9 * SECOND, 50);
    payments.close();
    expect(await finish(running)).toBeUndefined();
    expect(await countDue(journal)).toMatchObject({ due: 1 });
  });

  test('resolves each later run, and ends each later sweep', async () => {
    const { run, sweep, payments } = openShop().start();
    payments.close();
    expect(await run()).toBeUndefined();
    expect(await catchError(sweep())).toBeInstanceOf(ClosedError);
  });

  test('resolves the run of orders, before and meanwhile', async () => {
    const { run, payments } = openOrderShop().start();
    const running = run();
    await pass(SECOND, 50);
    payments.close();
    expect(await finish(Promise.all([running, run()]))).toEqual([undefined, undefined]);
  });
});

describe('an API key that is refused', () => {
  test.each([401, 403])(
    'with %d is an event, and a pause that doubles from 30 s to 5 minutes',
    async (status) => {
      const shop = openShop();
      await finish(shop.charge('order-1'));
      await pass(10 * SECOND);
      const always = { times: Number.POSITIVE_INFINITY };
      shop.service.fault('verify', { kind: 'status', status }, always);
      const stop = new AbortController();
      const running = shop.start().run({ signal: stop.signal });
      await pass(20 * MINUTE, 1_000);
      const paused = findFollowUpEvents(shop.events).filter(({ result }) => result === 'paused');
      expect(paused.map(({ delay }) => delay).slice(0, 6)).toEqual(
        [30, 60, 120, 240, 300, 300].map((s) => s * SECOND),
      );
      expect(paused[0]?.error).toMatch(status === 401 ? /^AuthenticationError: / : /^PermissionError: /);
      expect(shop.attentions).toEqual([]);
      stop.abort();
      await finish(running);
    },
  );

  test('is followed again once it is accepted', async () => {
    const shop = openShop();
    shop.service.approve(await finish(shop.charge('order-1')));
    shop.service.fault('verify', { kind: 'status', status: 401 });
    const stop = new AbortController();
    const running = shop.start().run({ signal: stop.signal });
    await pass(30 * SECOND, 100);
    expect(shop.finals).toEqual([]);
    await pass(15 * SECOND, 100);
    expect(shop.finals).toHaveLength(1);
    stop.abort();
    await finish(running);
  });
});

describe('a journal that is away', () => {
  test('is an event, and a pause that doubles from 1 s to a minute', async () => {
    const shop = openShop();
    const { run, journal } = shop.start();
    vi.spyOn(getRecords(journal), 'claimDue').mockRejectedValue(
      new JournalError('away', { retryable: true }),
    );
    const stop = new AbortController();
    const running = run({ signal: stop.signal });
    await pass(5 * MINUTE, 500);
    const paused = findFollowUpEvents(shop.events);
    expect(paused.slice(0, 8).map(({ delay }) => delay)).toEqual(
      [1, 2, 4, 8, 16, 32, 60, 60].map((s) => s * SECOND),
    );
    expect(paused[0]).toMatchObject({ result: 'paused', error: 'JournalError: away' });
    stop.abort();
    await finish(running);
  });

  test('is followed again once it is back', async () => {
    const shop = openShop();
    shop.service.approve(await finish(shop.charge('order-1')));
    const { run, journal } = shop.start();
    const spy = vi.spyOn(getRecords(journal), 'claimDue').mockRejectedValue(new Error('ECONNREFUSED'));
    const stop = new AbortController();
    const running = run({ signal: stop.signal });
    await pass(20 * SECOND, 100);
    spy.mockRestore();
    await pass(40 * SECOND, 100);
    expect(shop.finals).toHaveLength(1);
    stop.abort();
    await finish(running);
  });

  test('pauses for 1 s again, once a sweep succeeded in between', async () => {
    const shop = openShop();
    const { run, journal } = shop.start();
    const claimDue = vi.spyOn(getRecords(journal), 'claimDue');
    for (const isAway of [true, true, true, false, true])
      if (isAway) claimDue.mockRejectedValueOnce(new JournalError('away', { retryable: true }));
      else claimDue.mockResolvedValueOnce([]);
    const stop = new AbortController();
    const running = run({ signal: stop.signal });
    await pass(30 * SECOND, 500);
    expect(findFollowUpEvents(shop.events).map(({ delay }) => delay)).toEqual(
      [1, 2, 4, 1].map((s) => s * SECOND),
    );
    stop.abort();
    await finish(running);
  });

  test('is waited for 15 s at most', async () => {
    const { store, hang } = createHangingStore();
    const shop = openShop({ openJournal: () => memoryJournal({ store }) });
    const { run } = shop.start();
    hang(({ method }) => method === 'claimDue');
    const stop = new AbortController();
    const running = run({ signal: stop.signal });
    await pass(15 * SECOND, 100);
    expect(findFollowUpEvents(shop.events)[0]).toMatchObject({
      result: 'paused',
      error: expect.stringContaining('no response within'),
    });
    stop.abort();
    await finish(running);
  });
});

test('rejects if the store cannot claim what is due', async () => {
  const { read, write } = memoryStore();
  const shop = openShop({ openJournal: () => createJournal({ read, write }) });
  const { run, sweep } = shop.start();
  for (const call of [run, sweep]) {
    const error = await finish(catchError(call()));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toHaveProperty('message', expect.stringContaining('claimDue'));
  }
});

test.each([{ signal: {} }, { budget: 1_000 }, 'soon', null])('refuses the option %o', async (options) => {
  const { run } = openShop().start();
  expect(await catchError(Reflect.apply(run, undefined, [options]))).toBeInstanceOf(ConfigurationError);
});
