/** The final status without a queue: `createFollowUps`. */

import { expect, test, vi } from 'vitest';
import type { FinalPayment } from '../../src/follow-ups/index.ts';
import { memoryStore } from '../../src/stores/index.ts';
import { catchError } from '../helpers/service.ts';
import { DAY, getReference, HOUR, MINUTE, momo, SECOND, slow, sweepFor, world } from '../helpers/world.ts';
import { wrapStore } from '../helpers/wrapped-store.ts';

const keyed = (idempotencyKey: string) => ({ idempotencyKey });

test('each payment that becomes final is told once, whichever process charged it', async () => {
  const { shop, start, service, finals } = world();
  service.settleAfter('next', 40 * SECOND, 'success');
  const { reference } = await shop.payments.chargeMobileMoney(momo, keyed('order-17/1'));
  await sweepFor(HOUR, start().followUps);
  expect(finals).toMatchObject([{ key: 'order-17/1', reference, status: 'success' }]);
});

test('a handler that throws is called again', async () => {
  let calls = 0;
  const { shop, service } = world({
    onFinal() {
      calls++;
      if (calls < 3) throw new Error('The shop is away.');
    },
  });
  service.settleAfter('next', 0, 'success');
  await shop.payments.chargeMobileMoney(momo, keyed('order-17/1'));
  await sweepFor(DAY, shop.followUps);
  expect(calls).toBe(3);
});

test('any number of sweepers checks a payment no more often than one', async () => {
  const counts = [];
  for (const others of [0, 2]) {
    const { shop, start, checks } = world();
    for (let order = 1; order <= 10; order++)
      await shop.payments.chargeMobileMoney({ ...momo, amount: order }, keyed(`order-${order}/1`));
    const processes = [shop, ...Array.from({ length: others }, () => start())];
    await Promise.all(processes.map(({ followUps }) => sweepFor(20 * SECOND, followUps)));
    counts.push(checks.length);
  }
  expect(counts[0]).toBeGreaterThan(10);
  expect(counts[1]).toBe(counts[0]);
});

test('what a killed sweeper held goes on elsewhere', async () => {
  let isKilled = false;
  const store = memoryStore();
  const mortal = wrapStore(store, (_, step) => (isKilled ? new Promise<never>(() => {}) : step()));
  const { shop, start, service, finals, clock } = world({ store: mortal, onFinal: () => clock.pass(DAY) });
  service.settleAfter('next', 0, 'success');
  await shop.payments.chargeMobileMoney(momo, keyed('order-17/1'));
  await clock.pass(10 * SECOND);
  void shop.followUps.sweep().catch(() => {});
  await clock.pass(SECOND);
  isKilled = true;
  const onFinal = (final: FinalPayment) =>
    finals.push({ ...final, status: final.transaction.status, at: clock.now });
  await sweepFor(HOUR, start({ store, onFinal }).followUps);
  expect(finals).toMatchObject([{ key: 'order-17/1', status: 'success' }]);
});

test('a failed payment that is paid after all is told again', async () => {
  const { shop, service, finals, clock } = world();
  service.settleAfter('next', 20 * SECOND, 'failed');
  const { reference } = await shop.payments.chargeMobileMoney(momo, keyed('order-17/1'));
  await sweepFor(HOUR, shop.followUps);
  service.approve(reference);
  await clock.pass(SECOND);
  await sweepFor(3 * DAY, shop.followUps);
  expect(finals).toMatchObject([{ status: 'failed' }, { status: 'success' }]);
});

test('a webhook makes a payment due now, in whichever process it arrives', async () => {
  const { shop, start, service, checks, finals } = world();
  const { reference } = await shop.payments.chargeMobileMoney(momo, keyed('order-17/1'));
  service.approve(reference);
  await start().followUps.notify(JSON.stringify({ data: { reference } }));
  await shop.followUps.sweep();
  expect([checks.length, finals.length]).toEqual([1, 1]);
});

test('a payment past its deadline is reported once, and followed for seven days', async () => {
  const { shop, attentions, checks } = world();
  await shop.payments.chargeMobileMoney(momo, keyed('order-17/1'));
  await sweepFor(9 * DAY, shop.followUps);
  expect(attentions).toMatchObject([{ key: 'order-17/1', reason: 'overdue' }]);
  expect(checks.at(-1)?.at).toBeGreaterThan(6 * DAY);
});

test('a check waits for as long as the service asks, also after an error', async () => {
  const { shop, service, checks } = world();
  await shop.payments.chargeMobileMoney(momo, keyed('order-17/1'));
  service.fault('verify', { kind: 'rateLimited', retryAfter: 5 * MINUTE });
  await sweepFor(HOUR, shop.followUps);
  const [first, second] = checks.map(({ at }) => at);
  expect(Number(second) - Number(first)).toBeGreaterThanOrEqual(5 * MINUTE);
});

test('a sweep whose signal is aborted already checks nothing', async () => {
  const { shop, clock, checks } = world();
  await shop.payments.chargeMobileMoney(momo, keyed('order-17/1'));
  await clock.pass(MINUTE);
  const reason = new Error('The function ends.');
  expect(await catchError(shop.followUps.sweep({ signal: AbortSignal.abort(reason) }))).toBe(reason);
  expect(checks).toEqual([]);
});

test('more payments than handlers that run at once are all told', async () => {
  const told = new Set<string>();
  const { shop, service, clock } = world({
    client: { polling: { maxConcurrency: 200 } },
    async onFinal({ key }) {
      await clock.pass(30 * SECOND);
      told.add(key);
    },
  });
  for (let order = 1; order <= 70; order++) {
    const { reference } = await shop.payments.chargeMobileMoney(momo, keyed(`order-${order}/1`));
    service.approve(reference);
  }
  await clock.pass(MINUTE);
  await Promise.race([shop.followUps.sweep(), clock.pass(HOUR)]);
  expect(told.size).toBe(70);
});

test('a wrong API key rejects a sweep', async () => {
  const { shop, start } = world();
  await shop.payments.chargeMobileMoney(momo, keyed('order-17/1'));
  const wrong = start({ client: { apiKey: 'sk_test_another' } });
  expect(await catchError(sweepFor(MINUTE, wrong.followUps))).toMatchObject({ code: 'authentication_error' });
});

test('a payment that the key may not read blocks no sweep', async () => {
  const { shop, finals, checks, clock } = world({
    async respond({ method }) {
      if (method === 'POST') return undefined;
      if (checks.length === 1) return new Response('not yours', { status: 403 });
      // The other check is under way meanwhile.
      await clock.pass(SECOND);
      return undefined;
    },
  });
  for (const order of ['17', '18']) await shop.payments.chargeMobileMoney(momo, keyed(order));
  await clock.pass(10 * SECOND);
  // A sweep that waits for no time makes timers without end, and no time limit would stop it.
  const { setTimeout: wait } = globalThis;
  let timers = 0;
  vi.stubGlobal('setTimeout', (...args: Parameters<typeof wait>) => {
    timers++;
    if (timers > 1_000) throw new Error('The sweep waits for no time.');
    return wait(...args);
  });
  const sweep = shop.followUps.sweep();
  await expect(sweep.finally(() => vi.unstubAllGlobals())).resolves.toMatchObject({ checked: 2 });
  expect(finals).toEqual([]);
});

test('a sweep keeps its budget, and says what is left', async () => {
  const { shop, clock } = world({
    respond: ({ method }) => (method === 'GET' ? new Promise<never>(() => {}) : undefined),
  });
  await shop.payments.chargeMobileMoney(momo, keyed('order-17/1'));
  await clock.pass(MINUTE);
  const before = clock.now;
  expect(await shop.followUps.sweep({ budget: 5 * SECOND })).toMatchObject({ final: 0, due: 1 });
  expect(clock.now - before).toBeLessThanOrEqual(5 * SECOND);
});

test('run follows until its signal is aborted, and resolves then', async () => {
  const { shop, clock, service, finals } = world();
  const ending = new AbortController();
  const running = shop.followUps.run({ signal: ending.signal });
  service.settleAfter('next', MINUTE, 'success');
  await shop.payments.chargeMobileMoney(momo, keyed('order-17/1'));
  await clock.pass(3 * MINUTE);
  ending.abort();
  await running;
  expect(finals).toHaveLength(1);
});

test('a payment takes no more checks than its schedule', async () => {
  const { shop, service, checks } = world();
  service.settleAfter('next', 5 * MINUTE, 'success');
  await shop.payments.chargeMobileMoney(momo, keyed('order-17/1'));
  await sweepFor(DAY, shop.followUps);
  expect(checks.length).toBeLessThanOrEqual(35);
});

test('a notification makes run sweep once more, and not without a pause', async () => {
  const ending = new AbortController();
  let sweeps = 0;
  const store = wrapStore(memoryStore(), ({ method }, run) => {
    if (method === 'claimDue' && ++sweeps > 200) ending.abort();
    return run();
  });
  const { shop, clock } = world({ store });
  const { reference } = await shop.payments.chargeMobileMoney(momo, keyed('order-17/1'));
  const running = shop.followUps.run({ signal: ending.signal });
  await clock.pass(MINUTE);
  await shop.followUps.notify(reference);
  await clock.pass(MINUTE);
  ending.abort();
  await running;
  expect(sweeps).toBeLessThan(100);
});

test('run resolves once the handlers that were called have ended', async () => {
  let hasEnded = false;
  const { shop, clock, service } = world({
    async onFinal() {
      await clock.pass(5 * MINUTE);
      hasEnded = true;
    },
  });
  const ending = new AbortController();
  const running = shop.followUps.run({ signal: ending.signal });
  service.settleAfter('next', 0, 'success');
  await shop.payments.chargeMobileMoney(momo, keyed('order-17/1'));
  await clock.pass(3 * MINUTE);
  ending.abort();
  await running;
  expect(hasEnded).toBe(true);
});

test('close waits for the handlers of a sweep', async () => {
  let hasEnded = false;
  const { shop, clock, service } = world({
    async onFinal() {
      await clock.pass(10 * SECOND);
      hasEnded = true;
    },
  });
  service.settleAfter('next', 0, 'success');
  await shop.payments.chargeMobileMoney(momo, keyed('order-17/1'));
  await clock.pass(MINUTE);
  const sweeping = shop.followUps.sweep();
  await clock.pass(5 * SECOND);
  await shop.payments.close();
  expect(hasEnded).toBe(true);
  await sweeping;
});

test('a check beside a poll that is under way follows it at once', async () => {
  const { shop, clock, checks } = world({ respond: slow('GET', 2 * SECOND) });
  const { reference } = await shop.payments.chargeMobileMoney(momo, keyed('order-17/1'));
  await clock.pass(MINUTE);
  void shop.payments.waitForFinalStatus(reference).catch(() => {});
  await clock.pass(SECOND);
  await shop.followUps.sweep();
  const [first, second] = checks.map(({ at }) => at);
  expect((second ?? Number.POSITIVE_INFINITY) - (first ?? 0)).toBeLessThanOrEqual(3 * SECOND - 1);
});

test('a webhook to the orders leaves the keys of the shop as they are', async () => {
  const { shop, checks } = world();
  const { reference } = await shop.payments.chargeMobileMoney(momo, keyed('order-17/1'));
  await shop.orders.notify({ reference });
  await shop.followUps.sweep();
  expect(checks).toEqual([]);
});

test('a handler gets the end that another process found, not an older check', async () => {
  let isFirst = true;
  const { shop, start, service, finals, clock } = world({
    async respond({ method }, handle) {
      if (method !== 'GET' || !isFirst) return undefined;
      isFirst = false;
      const response = await handle();
      await clock.pass(5 * SECOND);
      return response;
    },
  });
  const { reference } = await shop.payments.chargeMobileMoney(momo, keyed('order-17/1'));
  await clock.pass(MINUTE);
  const sweeping = shop.followUps.sweep();
  await clock.pass(SECOND);
  service.approve(reference);
  const other = start({ onFinal: () => clock.pass(MINUTE) });
  await other.followUps.notify(reference);
  await Promise.all([sweeping, other.followUps.sweep()]);
  expect(finals).toMatchObject([{ key: 'order-17/1', status: 'success' }]);
});

test('a client of another service that sweeps first delays what is told by no more than a minute', async () => {
  const { shop, service, start, clock, paid } = world();
  const other = start({ client: { baseUrl: 'https://other.example/api/v1' } });
  service.approve(getReference(await shop.orders.charge('17', momo)));
  await clock.pass(10 * SECOND);
  await other.orders.sweep();
  expect(await shop.orders.sweep()).toMatchObject({ checked: 0 });
  await sweepFor(MINUTE, shop.orders);
  expect(paid).toMatchObject([{ order: '17' }]);
});
