import { beforeEach, describe, expect, test, vi } from 'vitest';
import { claimKey, completeKey, made } from '../../helpers/claims.ts';
import { MINUTE, SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import {
  type FollowedShop,
  findFollowUpEvents,
  finish,
  getService,
  getTimes,
  loseCharge,
  openShop,
  sweepFor,
} from '../../helpers/follow-ups.ts';
import { catchError, successBodies } from '../../helpers/service.ts';

const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const note = { by: 'ama@shop.example', reason: 'looked it up' };

beforeEach(() => {
  fakeClocks();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

const reasons = ({ attentions }: FollowedShop) => attentions.map(({ reason }) => reason);

describe('an unresolved key', () => {
  test('is reported at once, once, and without a GET', async () => {
    const shop = openShop();
    await loseCharge(shop, 'order-1');
    await sweepFor(HOUR, shop.start());
    await sweepFor(HOUR, shop.start());
    expect(shop.attentions).toMatchObject([{ key: 'order-1', reason: 'unresolved' }]);
    expect(shop.attentions[0]?.at).toBeLessThan(SECOND);
    expect(shop.gets).toEqual([]);
  });

  test('is reported once the lease of a process that died has expired', async () => {
    const shop = openShop();
    const journal = shop.openJournal();
    // No heartbeat follows.
    await claimKey(journal, 'order-1', { service: await getService() });
    const followUps = shop.start();
    await sweepFor(9 * SECOND, followUps);
    expect(shop.attentions).toEqual([]);
    await sweepFor(2 * SECOND, followUps);
    expect(shop.attentions).toMatchObject([{ key: 'order-1', reason: 'unresolved' }]);
    // What the follow-up records is no heartbeat.
    expect(await journal.read('order-1')).toMatchObject({ state: 'unknown', inProgress: false });
    await finish(journal.resolve('order-1', 'not_charged', note));
  });

  test('is not reported while its charge is in progress', async () => {
    let respond = (_: Response) => {};
    const shop = openShop({
      intercept: ({ method }) =>
        method === 'POST' ? new Promise((resolve) => (respond = resolve)) : Promise.resolve(undefined),
    });
    const charging = shop.charge('order-1');
    await pass(SECOND);
    await sweepFor(25 * SECOND, shop.start(), { step: SECOND });
    expect(shop.attentions).toEqual([]);
    respond(Response.json(successBodies.chargeMobileMoney()));
    expect(await finish(charging)).toBe('TXN-8f2c61d0');
  });

  test('is followed once a person has found its payment', async () => {
    const shop = openShop();
    const reference = await loseCharge(shop, 'order-1');
    const followUps = shop.start();
    await sweepFor(MINUTE, followUps);
    await finish(followUps.payments.resolve('order-1', { reference }, note));
    shop.service.approve(reference);
    await sweepFor(MINUTE, followUps);
    expect(shop.finals).toMatchObject([{ key: 'order-1', status: 'success' }]);
    expect(reasons(shop)).toEqual(['unresolved']);
  });

  test('is left alone once a person has freed it', async () => {
    const shop = openShop();
    await loseCharge(shop, 'order-1');
    const followUps = shop.start();
    await finish(followUps.payments.resolve('order-1', 'not_charged', note));
    await sweepFor(MINUTE, followUps);
    expect(shop.attentions).toEqual([]);
    expect(shop.gets).toEqual([]);
  });

  test('is reported again after the key was charged again', async () => {
    const shop = openShop();
    await loseCharge(shop, 'order-1');
    const followUps = shop.start();
    await sweepFor(SECOND, followUps);
    await finish(followUps.payments.resolve('order-1', 'not_charged', note));
    await loseCharge(shop, 'order-1');
    await sweepFor(SECOND, followUps);
    expect(reasons(shop)).toEqual(['unresolved', 'unresolved']);
  });
});

describe('an overdue payment', () => {
  test('is reported once at the deadline, after a check', async () => {
    const shop = openShop();
    const reference = await finish(shop.charge('order-1'));
    await sweepFor(15 * MINUTE, shop.start());
    expect(shop.attentions).toMatchObject([{ key: 'order-1', reference, reason: 'overdue' }]);
    const at = shop.attentions[0]?.at ?? 0;
    expect(at).toBeGreaterThanOrEqual(10 * MINUTE);
    expect(at).toBeLessThan(10 * MINUTE + SECOND);
    expect(getTimes(shop).filter((time) => time >= 10 * MINUTE && time <= at)).toHaveLength(1);
  });

  test('is checked at pauses that double from 30 s to an hour', async () => {
    const shop = openShop();
    await finish(shop.charge('order-1'));
    await sweepFor(10 * HOUR, shop.start());
    const late = getTimes(shop).filter((at) => at >= 10 * MINUTE);
    const pauses = late.slice(1).map((at, index) => Math.round((at - (late[index] ?? 0)) / 1_000));
    expect(pauses.slice(0, 10)).toEqual([30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600]);
  });

  test('is delivered if it becomes final after days', async () => {
    const shop = openShop();
    const reference = await finish(shop.charge('order-1'));
    shop.service.settleAfter(reference, 6 * DAY, 'success');
    await sweepFor(8 * DAY, shop.start());
    expect(shop.finals).toMatchObject([{ key: 'order-1', status: 'success' }]);
    expect((shop.finals[0]?.at ?? 0) - 6 * DAY).toBeLessThan(HOUR + MINUTE);
    expect(reasons(shop)).toEqual(['overdue']);
  });

  test('is given up 7 days after the charge', async () => {
    const shop = openShop();
    const reference = await finish(shop.charge('order-1'));
    const followUps = shop.start();
    const results = await sweepFor(8 * DAY, followUps);
    const last = getTimes(shop).at(-1) ?? 0;
    expect(last).toBeGreaterThanOrEqual(7 * DAY);
    expect(last).toBeLessThan(7 * DAY + HOUR + MINUTE);
    expect(results.at(-1)).toMatchObject({ due: 0, nextAt: null });
    expect(await followUps.journal.read('order-1')).toMatchObject({
      attention: 'overdue',
      nextCheckAt: undefined,
    });
    expect(findFollowUpEvents(shop.events).map(({ result }) => result)).toEqual(['attention', 'given_up']);
    const count = shop.gets.length;
    shop.service.approve(reference);
    await sweepFor(DAY, followUps);
    expect(shop.gets).toHaveLength(count);
    expect(reasons(shop)).toEqual(['overdue']);
  });

  test('is checked once before it is reported, if it is first seen late', async () => {
    const shop = openShop();
    const [paid] = [await finish(shop.charge('order-1')), await finish(shop.charge('order-2'))];
    await pass(DAY, DAY);
    shop.service.approve(paid);
    await sweepFor(SECOND, shop.start());
    expect(shop.gets).toHaveLength(2);
    expect(shop.finals).toMatchObject([{ key: 'order-1', status: 'success' }]);
    expect(shop.attentions).toMatchObject([{ key: 'order-2', reason: 'overdue' }]);
  });

  test('is checked again before it is reported, if that check fails', async () => {
    const shop = openShop();
    const reference = await finish(shop.charge('order-1'));
    await pass(DAY, DAY);
    shop.service.approve(reference);
    shop.service.fault('verify', { kind: 'status', status: 502 });
    await sweepFor(MINUTE, shop.start());
    expect(shop.gets).toHaveLength(2);
    expect(shop.finals).toMatchObject([{ key: 'order-1', status: 'success' }]);
    expect(shop.attentions).toEqual([]);
  });

  test('is reported if the service fails for long', async () => {
    const shop = openShop();
    const polling = { timeout: MINUTE };
    await finish(shop.charge('order-1', { polling }));
    shop.service.fault('verify', { kind: 'status', status: 502 }, { times: Number.POSITIVE_INFINITY });
    const followUps = shop.start();
    await sweepFor(2 * MINUTE, followUps);
    expect(reasons(shop)).toEqual(['overdue']);
    // Nothing is given up while the service fails.
    await sweepFor(9 * DAY, followUps);
    expect(reasons(shop)).toEqual(['overdue']);
    expect(findFollowUpEvents(shop.events).map(({ result }) => result)).toEqual(['attention']);
  });

  test('is checked by the schedule for ever without a deadline', async () => {
    const shop = openShop();
    const polling = { timeout: Number.POSITIVE_INFINITY };
    await finish(shop.charge('order-1', { polling }));
    await sweepFor(HOUR, shop.start());
    expect(shop.attentions).toEqual([]);
    const times = getTimes(shop).slice(-2);
    expect(Math.round(((times[1] ?? 0) - (times[0] ?? 0)) / 1_000)).toBe(15);
  });
});

describe('another amount or currency', () => {
  const wrong = [
    ['amount', { kind: 'wrongAmount', amount: '2.55' }],
    ['currency', { kind: 'wrongCurrency', currency: 'USD' }],
  ] as const;

  test.each(wrong)('is reported once and never delivered: %s', async (_, fault) => {
    const shop = openShop();
    const reference = await finish(shop.charge('order-1'));
    shop.service.approve(reference);
    shop.service.fault('verify', fault, { times: Number.POSITIVE_INFINITY });
    await sweepFor(DAY, shop.start());
    expect(shop.finals).toEqual([]);
    expect(shop.attentions).toMatchObject([{ key: 'order-1', reference, reason: 'mismatch' }]);
    const times = getTimes(shop);
    const pauses = times.slice(1).map((at, index) => Math.round((at - (times[index] ?? 0)) / 1_000));
    expect(pauses.slice(0, 4)).toEqual([30, 60, 120, 240]);
  });

  test.each(wrong)('is delivered once it is corrected: %s', async (_, fault) => {
    const shop = openShop();
    const reference = await finish(shop.charge('order-1'));
    shop.service.approve(reference);
    shop.service.fault('verify', fault, { times: 3 });
    await sweepFor(HOUR, shop.start());
    expect(reasons(shop)).toEqual(['mismatch']);
    expect(shop.gets).toHaveLength(4);
    expect(shop.finals).toMatchObject([{ key: 'order-1', status: 'success' }]);
  });

  test('is reported at once if the response of the charge named it', async () => {
    const shop = openShop();
    shop.service.fault('chargeMobileMoney', { kind: 'wrongAmount', amount: '2.55' });
    await finish(catchError(shop.charge('order-1')));
    await sweepFor(SECOND, shop.start());
    expect(shop.attentions).toMatchObject([{ key: 'order-1', reference: 'TXN-000001', reason: 'mismatch' }]);
    expect(shop.finals).toEqual([]);
  });

  test('is reported before the status is final', async () => {
    const shop = openShop();
    await finish(shop.charge('order-1'));
    shop.service.fault('verify', { kind: 'wrongAmount', amount: '2.55' });
    await sweepFor(9 * SECOND, shop.start());
    expect(reasons(shop)).toEqual(['mismatch']);
  });

  test('returns to the schedule once it is corrected before the deadline', async () => {
    const shop = openShop();
    await finish(shop.charge('order-1'));
    shop.service.fault('verify', { kind: 'wrongAmount', amount: '2.55' });
    await sweepFor(MINUTE, shop.start());
    const [first = 0, second = 0, third = 0] = getTimes(shop);
    expect(Math.round((second - first) / 1_000)).toBe(30);
    expect(third - second).toBeLessThan(10 * SECOND);
  });
});

describe('a transaction that the service does not know', () => {
  test('is reported once it has lasted 10 s', async () => {
    const shop = openShop();
    const reference = await finish(shop.charge('order-1'));
    shop.service.fault('verify', { kind: 'status', status: 404 }, { times: Number.POSITIVE_INFINITY });
    await sweepFor(DAY, shop.start());
    expect(shop.attentions).toMatchObject([{ key: 'order-1', reference, reason: 'gone' }]);
    const times = getTimes(shop);
    expect(times.slice(0, 6).map((at) => Math.round(at / 1_000))).toEqual([8, 11, 14, 17, 21, 51]);
    expect(shop.attentions[0]?.at).toBeGreaterThanOrEqual(18 * SECOND);
    expect(shop.finals).toEqual([]);
  });

  test('is not reported if a replica was behind for a moment', async () => {
    const shop = openShop();
    const reference = await finish(shop.charge('order-1'));
    shop.service.fault('verify', { kind: 'status', status: 404 }, { times: 3 });
    shop.service.settleAfter(reference, 15 * SECOND, 'success');
    await sweepFor(MINUTE, shop.start());
    expect(shop.attentions).toEqual([]);
    expect(shop.finals).toHaveLength(1);
  });

  test('is delivered if it comes back', async () => {
    const shop = openShop();
    const reference = await finish(shop.charge('order-1'));
    shop.service.fault('verify', { kind: 'status', status: 404 }, { times: 8 });
    shop.service.approve(reference);
    await sweepFor(HOUR, shop.start());
    expect(reasons(shop)).toEqual(['gone']);
    expect(shop.finals).toMatchObject([{ key: 'order-1', status: 'success' }]);
  });
});

describe('onAttention', () => {
  test.each(['unresolved', 'overdue', 'mismatch', 'gone'] as const)(
    'is called again for %s if it throws',
    async (reason) => {
      const shop = openShop();
      if (reason === 'unresolved') await loseCharge(shop, 'order-1');
      else await finish(shop.charge('order-1'));
      const always = { times: Number.POSITIVE_INFINITY };
      if (reason === 'mismatch')
        shop.service.fault('verify', { kind: 'wrongAmount', amount: '2.55' }, always);
      if (reason === 'gone') shop.service.fault('verify', { kind: 'status', status: 404 }, always);
      const called: number[] = [];
      const onAttention = () => {
        called.push(Date.now());
        if (called.length <= 3) throw new Error('the pager does not respond');
      };
      await sweepFor(HOUR, shop.start({ onAttention }));
      const pauses = called.slice(1).map((at, index) => Math.round((at - (called[index] ?? 0)) / 1_000));
      expect(pauses).toEqual([30, 60, 120]);
      const failed = findFollowUpEvents(shop.events).filter(({ result }) => result === 'handler_failed');
      expect(failed).toMatchObject(
        Array(3).fill({ idempotencyKey: 'order-1', reason, error: 'Error: the pager does not respond' }),
      );
    },
  );

  test('is called at last before a payment is given up', async () => {
    const shop = openShop();
    await finish(shop.charge('order-1'));
    let isDown = true;
    const called: string[] = [];
    const followUps = shop.start({
      onAttention({ reason }) {
        if (isDown) throw new Error('down');
        called.push(reason);
      },
    });
    await sweepFor(8 * DAY, followUps);
    isDown = false;
    await sweepFor(2 * HOUR, followUps);
    expect(called).toEqual(['overdue']);
    expect(findFollowUpEvents(shop.events).map(({ result }) => result)).toContain('given_up');
  });
});

test('reports a transaction of another key, and delivers it to the first', async () => {
  const shop = openShop();
  const followUps = shop.start();
  const reference = await finish(shop.charge('order-1'));
  await completeKey(followUps.journal, 'order-2', made(reference), { service: await getService() });
  shop.service.approve(reference);
  await sweepFor(DAY, followUps);
  expect(shop.finals).toMatchObject([{ key: 'order-1', reference, status: 'success' }]);
  expect(shop.attentions).toMatchObject([{ key: 'order-2', reference, reason: 'shared_reference' }]);
  expect(shop.gets).toHaveLength(1);
});
