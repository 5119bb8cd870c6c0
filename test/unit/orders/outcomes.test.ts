/** How an order learns what became of its payments: by sweeps, waits and webhooks, and what its handlers are told. */

import { describe, expect, test } from 'vitest';
import { memoryStore } from '../../../src/stores/index.ts';
import { catchError } from '../../helpers/service.ts';
import { getReference, MINUTE, momo, page, SECOND, sweepFor, world } from '../../helpers/world.ts';
import { wrapStore } from '../../helpers/wrapped-store.ts';

const always = { times: Number.POSITIVE_INFINITY };

describe('a sweep', () => {
  test('does not call onUnpaid for an order that was pressed meanwhile', async () => {
    const gate = Promise.withResolvers<void>();
    const told: string[] = [];
    const onUnpaid = async ({ order }: { order: string }) => {
      told.push(order);
      await gate.promise;
    };
    const { shop, service, clock } = world({ onUnpaid });
    // One more than there are handlers at once.
    const ids = Array.from({ length: 65 }, (_, index) => String(index + 1));
    for (const id of ids) service.decline(getReference(await shop.orders.charge(id, momo)));
    await clock.pass(20 * SECOND);
    const sweeping = shop.orders.sweep();
    await clock.pass(10 * SECOND);
    expect(told).toHaveLength(64);
    const [queued = ''] = ids.filter((id) => !told.includes(id));
    expect(await shop.orders.charge(queued, momo)).toMatchObject({ state: 'processing' });
    gate.resolve();
    await sweeping;
    expect(told).not.toContain(queued);
  });

  test('takes no response about another transaction for its own', async () => {
    const { shop, service, paid, attentions } = world();
    const reference = getReference(await shop.orders.charge('17', momo));
    service.fault('verify', { kind: 'wrongReference', reference: 'TXN-other' }, always);
    service.approve(reference);
    await sweepFor(MINUTE, shop.orders);
    const underWay = { state: 'processing', payment: { reference } };
    expect(await shop.orders.read('17')).toMatchObject(underWay);
    service.clearFaults();
    await sweepFor(MINUTE, shop.orders);
    expect(paid).toMatchObject([{ order: '17', payment: { key: '17/1' } }]);
    expect(attentions).toEqual([]);
  });

  test('leaves the payments of plain keys to createFollowUps', async () => {
    const { shop, service, clock } = world();
    const { reference } = await shop.payments.chargeMobileMoney(momo, { idempotencyKey: 'plain' });
    service.approve(reference);
    await clock.pass(10 * SECOND);
    expect(await shop.orders.sweep()).toMatchObject({ checked: 0, due: 0 });
  });
});

describe('a wait', () => {
  test('returns what it is at its timeout, also while the journal hangs', async () => {
    let isHung = false;
    const store = wrapStore(memoryStore(), (_, run) => (isHung ? new Promise(() => {}) : run()));
    const { shop, clock } = world({ store });
    const underWay = { state: 'processing', payment: { key: '17/1' } };
    await shop.orders.charge('17', momo);
    expect(await shop.orders.wait('17', { timeout: 30 * SECOND })).toMatchObject(underWay);
    expect(clock.now).toBe(30 * SECOND);
    const waiting = shop.orders.wait('17', { timeout: 5 * SECOND });
    await clock.pass(SECOND);
    isHung = true;
    expect(await waiting).toMatchObject(underWay);
    expect(clock.now).toBeLessThan(40 * SECOND);
  });

  test('rejects if the journal does not take before its timeout that it is paid', async () => {
    let isAway = false;
    const store = wrapStore(memoryStore(), (_, run) =>
      isAway ? Promise.reject(new Error('the database is down')) : run(),
    );
    const { shop, service, clock } = world({ store });
    service.approve(getReference(await shop.orders.charge('17', momo)));
    const waiting = catchError(shop.orders.wait('17', { timeout: MINUTE }));
    await clock.pass(SECOND);
    isAway = true;
    expect(await waiting).toMatchObject({ code: 'journal_error' });
    expect(clock.now).toBeLessThan(MINUTE);
  });

  test('polls at the same pace for a payment that began longer ago', async () => {
    const { shop, checks, clock } = world();
    await shop.orders.charge('17', momo);
    await clock.pass(5 * MINUTE);
    await shop.orders.wait('17', { timeout: MINUTE });
    // Every 15 s by then.
    expect(checks.length).toBeLessThan(7);
  });

  test('ends for a person if the transaction has another amount', async () => {
    const { shop, service, paid } = world();
    service.approve(getReference(await shop.orders.charge('17', momo)));
    service.fault('verify', { kind: 'wrongAmount', amount: '2.55' }, always);
    const review = { state: 'in_review', reason: 'mismatch', payment: { key: '17/1' } };
    expect(await shop.orders.wait('17', { timeout: MINUTE })).toMatchObject(review);
    expect(paid).toEqual([]);
  });

  test('polls at a pace if a payment that failed is not final for its order', async () => {
    const { shop, start, service, checks } = world({ client: { polling: { finalStatuses: ['success'] } } });
    service.decline(getReference(await shop.orders.charge('17', momo)));
    const status = await start().orders.wait('17', { timeout: MINUTE });
    expect(status).toMatchObject({ state: 'processing', payment: { key: '17/1', status: 'failed' } });
    expect(checks.length).toBeLessThan(20);
  });

  test('polls at a pace if a payment that is under way ends each check', async () => {
    const finalStatuses = ['success', 'failed', 'abandoned', 'processing', 'pending'] as const;
    const { shop, checks } = world({ client: { polling: { finalStatuses } } });
    await shop.orders.charge('17', momo);
    expect(await shop.orders.wait('17', { timeout: MINUTE })).toMatchObject({ state: 'processing' });
    expect(checks.length).toBeLessThan(20);
  });

  test('polls at a pace while a webhook is ahead of the record of its charge', async () => {
    let isAway = false;
    const store = memoryStore();
    // The claim of the reference is written, and what came of the charge is not.
    const held = wrapStore(store, ({ method, key }, run) =>
      isAway && method === 'write' && key.startsWith('order')
        ? Promise.reject(new Error('the database is read-only'))
        : run(),
    );
    const { start, shop, service, checks, clock } = world({
      store,
      respond: ({ method }) => {
        isAway ||= method === 'POST';
        return undefined;
      },
    });
    const charging = start({ store: held }).orders.charge('17', momo);
    await clock.pass(SECOND);
    const [{ reference } = { reference: '' }] = service.charges;
    service.approve(reference);
    await shop.orders.notify({ reference });
    expect(await shop.orders.read('17')).toMatchObject({ state: 'processing', payment: { reference } });
    await shop.orders.wait('17', { timeout: 5 * SECOND });
    expect(checks.length).toBeLessThan(4);
    isAway = false;
    await charging;
  });

  test('ends when another process records the end', async () => {
    const { shop, start, service, clock } = world();
    service.settleAfter('next', SECOND, 'success');
    await shop.orders.checkout('17', page);
    const waiting = shop.orders.wait('17', { timeout: 10 * MINUTE });
    await clock.pass(2 * SECOND);
    expect(await start().orders.charge('17', momo)).toMatchObject({ state: 'paid' });
    expect(await waiting).toMatchObject({ state: 'paid' });
    expect(clock.now).toBeLessThan(7 * SECOND);
  });

  test('rejects with the reason of its signal', async () => {
    const { shop } = world();
    await shop.orders.charge('17', momo);
    const stop = new AbortController();
    const waiting = catchError(shop.orders.wait('17', { signal: stop.signal }));
    stop.abort('enough');
    expect(await waiting).toBe('enough');
  });
});
