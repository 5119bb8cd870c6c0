import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { PaymentsEvent } from '../../../src/index.ts';
import { memoryJournal } from '../../../src/stores/index.ts';
import { countDue } from '../../helpers/claims.ts';
import { MINUTE, SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { findFollowUpEvents, finish, openShop, sweepFor } from '../../helpers/follow-ups.ts';
import { createHangingStore } from '../../helpers/hanging-store.ts';
import { catchError, EMAIL, PHONE } from '../../helpers/service.ts';

beforeEach(() => {
  fakeClocks();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

/** Opens a shop with one payment that is paid. */
async function openPaidShop() {
  const shop = openShop();
  const reference = await finish(shop.charge('order-1'));
  shop.service.approve(reference);
  return { shop, reference };
}

describe('onFinal', () => {
  test('is called again if it throws, at pauses that double from 30 s', async () => {
    const { shop } = await openPaidShop();
    const called: number[] = [];
    const onFinal = () => {
      called.push(Date.now());
      if (called.length <= 10) throw new Error('the database is away');
    };
    await sweepFor(10 * 60 * MINUTE, shop.start({ onFinal }));
    const pauses = called.slice(1).map((at, index) => Math.round((at - (called[index] ?? 0)) / 1_000));
    expect(pauses).toEqual([30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600]);
    expect(shop.attentions).toEqual([]);
  });

  test('is called for ever if it always throws', async () => {
    const { shop } = await openPaidShop();
    let calls = 0;
    const onFinal = async () => {
      calls += 1;
      throw new Error('no');
    };
    const month = 30 * 24 * 60 * MINUTE;
    await sweepFor(month, shop.start({ onFinal }));
    expect(calls).toBeGreaterThan(700);
  });

  test('is not called once the sweep is aborted, but by the next one', async () => {
    const { shop } = await openPaidShop();
    const stop = new AbortController();
    const onEvent = (event: PaymentsEvent) => {
      if (event.type === 'follow_up' && event.result === 'final') stop.abort('stop');
    };
    const followUps = shop.start({}, { onEvent });
    await pass(MINUTE);
    expect(await finish(catchError(followUps.sweep({ signal: stop.signal })))).toBe('stop');
    expect(shop.finals).toEqual([]);
    await sweepFor(MINUTE, followUps);
    expect(shop.finals).toMatchObject([{ key: 'order-1', status: 'success' }]);
    expect(shop.gets).toHaveLength(1);
  });

  test('is called again without a GET, from what is recorded', async () => {
    const { shop, reference } = await openPaidShop();
    const seen: object[] = [];
    const onFinal = (payment: object) => {
      seen.push(payment);
      if (seen.length === 1) throw new Error('no');
    };
    await sweepFor(MINUTE, shop.start({ onFinal }));
    expect(shop.gets).toHaveLength(1);
    const facts = { reference, status: 'success', amount: '25.50', currency: 'GHS' };
    const paid_at = expect.stringMatching(/^2\d\d\d-/);
    expect(seen).toEqual([
      { key: 'order-1', reference, transaction: { ...facts, customer_email: EMAIL, paid_at } },
      { key: 'order-1', reference, transaction: { ...facts, customer_email: null, paid_at } },
    ]);
  });

  test('leaves nothing of the customer in the journal', async () => {
    const { shop } = await openPaidShop();
    const followUps = shop.start({
      onFinal() {
        throw new Error('no');
      },
    });
    await sweepFor(9 * SECOND, followUps);
    const text = JSON.stringify(await shop.store.read('key order-1'));
    expect(text).toContain('\\"status\\":\\"success\\"');
    expect(text).not.toContain(EMAIL);
    expect(text).not.toContain(PHONE.slice(-4));
  });

  test('reports what it threw, without secrets', async () => {
    const { shop } = await openPaidShop();
    const onFinal = () => {
      throw new TypeError(`cannot email ${EMAIL} about sk_test_4vK9qLm2Xw7RtZ`);
    };
    await sweepFor(9 * SECOND, shop.start({ onFinal }));
    expect(findFollowUpEvents(shop.events)).toMatchObject([
      { result: 'final', status: 'success' },
      { result: 'handler_failed', error: 'TypeError: cannot email [REDACTED] about [REDACTED]' },
    ]);
  });

  test.each([undefined, null, 'text', Object.create(null)])(
    'is called again if it throws %o',
    async (thrown) => {
      const { shop } = await openPaidShop();
      let calls = 0;
      const onFinal = () => {
        if (++calls === 1) throw thrown;
      };
      await sweepFor(MINUTE, shop.start({ onFinal }));
      expect(calls).toBe(2);
    },
  );

  test('is never called for a payment that is not final', async () => {
    const shop = openShop();
    const reference = await finish(shop.charge('order-1'));
    shop.service.script(reference, ['pending', 'processing', 'pending']);
    await sweepFor(MINUTE, shop.start());
    expect(shop.finals).toEqual([]);
  });

  test('is not called for a status that finalStatuses leaves out', async () => {
    const shop = openShop();
    const polling = { finalStatuses: ['success', 'failed'] as const };
    const reference = await finish(shop.charge('order-1', { polling }));
    shop.service.abandon(reference);
    const followUps = shop.start();
    await sweepFor(MINUTE, followUps);
    expect(shop.finals).toEqual([]);
    shop.service.approve(reference);
    await sweepFor(MINUTE, followUps);
    expect(shop.finals).toMatchObject([{ status: 'success' }]);
  });
});

describe('a slow handler', () => {
  test('is not called by another process while it runs', async () => {
    const { shop } = await openPaidShop();
    let calls = 0;
    const onFinal = async () => {
      calls += 1;
      await new Promise((resolve) => setTimeout(resolve, 10 * MINUTE));
    };
    await pass(8 * SECOND);
    const first = shop.start({ onFinal });
    const second = shop.start({ onFinal });
    const slow = first.sweep();
    await pass(SECOND);
    await sweepFor(9 * MINUTE, second, { step: 5_000 });
    expect(calls).toBe(1);
    expect(await finish(slow)).toMatchObject({ final: 1, due: 0 });
    await sweepFor(10 * MINUTE, second, { step: 5_000 });
    expect(calls).toBe(1);
    expect(shop.gets).toHaveLength(1);
  });

  test('does not stop the other payments of its sweep', async () => {
    const { shop } = await openPaidShop();
    const finals: string[] = [];
    const onFinal = ({ key }: { key: string }) => {
      if (key === 'order-1') return new Promise(() => {});
      finals.push(key);
      return undefined;
    };
    await pass(8 * SECOND);
    const polling = { maxConcurrency: 1 };
    shop.start({ onFinal }, { polling }).sweep();
    await pass(SECOND);
    const later = await finish(shop.charge('order-2'));
    shop.service.approve(later);
    await pass(10 * SECOND);
    expect(finals).toEqual(['order-2']);
    expect(shop.gets).toHaveLength(2);
  });

  test('is waited for at the end of the budget', async () => {
    const { shop } = await openPaidShop();
    await pass(8 * SECOND);
    const onFinal = () => new Promise((resolve) => setTimeout(resolve, MINUTE));
    const { sweep, journal } = shop.start({ onFinal });
    const startedAt = Date.now();
    expect(await finish(sweep({ budget: 5 * SECOND }))).toMatchObject({ final: 1, due: 0, nextAt: null });
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(MINUTE);
    expect(await countDue(journal)).toEqual({ due: 0, nextIn: null });
  });

  test('runs once more if its process dies meanwhile', async () => {
    const { shop } = await openPaidShop();
    await pass(8 * SECOND);
    const calls: string[] = [];
    const { store, hang } = createHangingStore(shop.store);
    const onFinal = () => {
      calls.push('dying');
      return new Promise(() => {});
    };
    const dying = shop.start({ onFinal }, {}, memoryJournal({ store }));
    dying.sweep().catch(() => {});
    await pass(SECOND);
    // A process that is killed writes nothing any more.
    hang(() => true);
    const next = shop.start({ onFinal: () => calls.push('next') });
    await sweepFor(30 * SECOND, next);
    expect(calls).toEqual(['dying']);
    await sweepFor(15 * SECOND, next);
    expect(calls).toEqual(['dying', 'next']);
    expect(shop.gets).toHaveLength(1);
  });
});
