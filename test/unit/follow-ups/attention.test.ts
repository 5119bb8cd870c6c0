/** What needs a person: when `onAttention` hears of it, and what becomes of the payment. */

import { describe, expect, test } from 'vitest';
import { memoryStore } from '../../../src/stores/index.ts';
import { DAY, HOUR, MINUTE, SECOND, sweepFor, type World, world } from '../../helpers/world.ts';
import { wrapStore } from '../../helpers/wrapped-store.ts';
import { always, chargeKey, findFollowUps, loseKey, never, toPauses } from './keys.ts';

const reasonsOf = ({ attentions }: World) => attentions.map(({ reason }) => reason);

type Fault =
  | { kind: 'wrongAmount'; amount: string }
  | { kind: 'wrongCurrency'; currency: string }
  | { kind: 'status'; status: number };

/** Begins a payment whose checks meet a fault. */
const charge =
  (fault?: Fault, times = always.times) =>
  async ({ shop, service }: World) => {
    const reference = await chargeKey(shop);
    if (fault) service.fault('verify', fault, { times });
    return reference;
  };

const otherAmount = { kind: 'wrongAmount', amount: '2.55' } as const;
const otherCurrency = { kind: 'wrongCurrency', currency: 'USD' } as const;
const notFound = { kind: 'status', status: 404 } as const;

test.each<[reason: string, begin: (world: World) => Promise<string>, at: number, checks: number[]]>([
  ['unresolved', loseKey, 0, []],
  ['overdue', charge(), 600, [600, 630, 690, 810, 1_050, 1_530, 2_490, 4_410, 8_010, 11_610]],
  ['mismatch', charge(otherAmount), 8, [8, 38, 98, 218, 458]],
  ['mismatch', charge(otherCurrency), 8, [8, 38, 98, 218, 458]],
  ['gone', charge(notFound), 21, [8, 11, 14, 17, 21, 51]],
])('reports %s until onAttention succeeds, and delivers nothing', async (reason, begin, at, checks) => {
  const calls: { at: number }[] = [];
  const made = world({
    onAttention(attention) {
      expect(attention).toMatchObject({ key: 'order-1', reason });
      calls.push({ at: made.clock.now });
      if (calls.length <= 3) throw new Error('the pager does not respond');
    },
  });
  const { shop, service, finals, events } = made;
  const reference = await begin(made);
  if (reason === 'mismatch' || reason === 'gone') service.approve(reference);
  await sweepFor(DAY, shop.followUps);
  expect(Math.round((calls[0]?.at ?? 0) / SECOND)).toBe(at);
  expect(toPauses(calls)).toEqual([30, 60, 120]);
  const times = made.checks.map((check) => Math.round(check.at / SECOND));
  expect(times.slice(times.indexOf(checks[0] ?? 0)).slice(0, checks.length)).toEqual(checks);
  expect(finals).toEqual([]);
  const failed = findFollowUps(events).filter(({ result }) => result === 'handler_failed');
  const error = 'Error: the pager does not respond';
  expect(failed).toMatchObject(Array(3).fill({ idempotencyKey: 'order-1', reason, error }));
});

test.each<[reason: string, begin: (world: World) => Promise<string>]>([
  ['a mismatch that is corrected', charge(otherAmount, 3)],
  ['a mismatch of the currency that is corrected', charge(otherCurrency, 3)],
  ['a transaction that is gone and comes back', charge(notFound, 8)],
])('delivers %s, after one report', async (_, begin) => {
  const made = world();
  made.service.approve(await begin(made));
  await sweepFor(HOUR, made.shop.followUps);
  expect(made.attentions).toHaveLength(1);
  expect(made.finals).toMatchObject([{ key: 'order-1', status: 'success' }]);
});

describe('an unresolved key', () => {
  test('is reported once its process has died, at the end of the lease', async () => {
    let isKilled = false;
    const store = memoryStore();
    const mortal = wrapStore(store, (_, run) => (isKilled ? never() : run()));
    const { shop, start, journal, attentions } = world({
      store: mortal,
      client: { timeout: 10 * MINUTE },
      respond: ({ method }) => (method === 'POST' ? never() : undefined),
    });
    void chargeKey(shop).catch(() => {});
    const { followUps } = start({ store });
    await sweepFor(MINUTE, followUps);
    expect(attentions).toEqual([]);
    isKilled = true;
    await sweepFor(11 * SECOND, followUps);
    expect(attentions).toMatchObject([{ key: 'order-1', reason: 'unresolved' }]);
    isKilled = false;
    // What the follow-up records is no heartbeat.
    expect(await journal.read('order-1')).toMatchObject({ state: 'unknown', inProgress: false });
    isKilled = true;
  });
});

describe('an overdue payment', () => {
  test('is given up after 7 days, and checked once for each notification then', async () => {
    const made = world();
    const { shop, service, events, checks, finals } = made;
    const reference = await chargeKey(shop);
    const results = await sweepFor(8 * DAY, shop.followUps);
    const last = checks.at(-1)?.at;
    expect(last).toBeGreaterThanOrEqual(7 * DAY);
    expect(last).toBeLessThan(7 * DAY + HOUR + MINUTE);
    expect(results.at(-1)).toMatchObject({ due: 0, nextAt: null });
    const entry = { attention: 'overdue', nextCheckAt: undefined };
    expect(await made.journal.read('order-1')).toMatchObject(entry);
    expect(findFollowUps(events).map(({ result }) => result)).toEqual(['attention', 'given_up']);
    const count = checks.length;
    for (const isPaid of [false, true]) {
      if (isPaid) service.approve(reference);
      await sweepFor(DAY, shop.followUps);
      expect(finals).toEqual([]);
      await shop.followUps.notify(reference);
      await sweepFor(DAY, shop.followUps);
    }
    expect(checks).toHaveLength(count + 2);
    expect(finals).toMatchObject([{ key: 'order-1', status: 'success' }]);
    expect(reasonsOf(made)).toEqual(['overdue']);
  });

  test('is checked before it is reported, and again if that check fails', async () => {
    const { shop, service, clock, checks, finals, attentions } = world();
    const reference = await chargeKey(shop);
    await clock.pass(DAY);
    service.approve(reference);
    service.fault('verify', { kind: 'status', status: 502 });
    await sweepFor(MINUTE, shop.followUps);
    expect(checks).toHaveLength(2);
    expect(finals).toMatchObject([{ key: 'order-1', status: 'success' }]);
    expect(attentions).toEqual([]);
  });

  test('is reported if the service fails for long, and not given up', async () => {
    const made = world({ client: { polling: { timeout: MINUTE } } });
    await charge({ kind: 'status', status: 502 })(made);
    await sweepFor(2 * MINUTE, made.shop.followUps);
    expect(reasonsOf(made)).toEqual(['overdue']);
    await sweepFor(9 * DAY, made.shop.followUps);
    expect(findFollowUps(made.events).map(({ result }) => result)).toEqual(['attention']);
  });

  test('is none without a deadline: it is checked by the schedule for ever', async () => {
    const { shop, attentions, checks } = world({
      client: { polling: { timeout: Number.POSITIVE_INFINITY } },
    });
    await chargeKey(shop);
    await sweepFor(HOUR, shop.followUps);
    expect(attentions).toEqual([]);
    expect(toPauses(checks.slice(-2))).toEqual([15]);
  });
});

test.each(['failed', 'abandoned'] as const)(
  'a %s payment is told once, and checked for a week',
  async (status) => {
    const { shop, service, finals, attentions, events, checks } = world();
    service.settleAfter('next', SECOND, status);
    await chargeKey(shop);
    const results = await sweepFor(9 * DAY, shop.followUps);
    expect(results.at(-1)).toMatchObject({ due: 0, nextAt: null });
    const pauses = toPauses(checks);
    expect(pauses).toHaveLength(18);
    expect([...pauses.slice(0, 4), pauses.at(-1)]).toEqual([30, 60, 120, 240, 86_400]);
    expect(finals).toMatchObject([{ key: 'order-1', status }]);
    expect(attentions).toEqual([]);
    expect(findFollowUps(events).map(({ result }) => result)).toEqual(['final', 'delivered']);
  },
);
