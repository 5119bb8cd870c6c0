/** A notification makes a payment due, whatever its form, and is never believed. */

import { describe, expect, test, vi } from 'vitest';
import { memoryStore } from '../../../src/stores/index.ts';
import { MINUTE, SECOND, sweepFor, world } from '../../helpers/world.ts';
import { wrapStore } from '../../helpers/wrapped-store.ts';
import { chargeKey, findFollowUps, never } from './keys.ts';

test.each<[form: string, write: (references: string[]) => unknown]>([
  ['a parsed body', (references) => ({ data: { list: references.map((reference) => ({ reference })) } })],
  ['a raw body', ([one, two]) => Buffer.from(`{"event":"paid","data":["${one}",{"reference":"${two}"}]}`)],
])('checks at once what %s names, and delivers only what is paid', async (_, write) => {
  const { shop, service, checks, finals, events } = world();
  const references = [await chargeKey(shop, 'order-1'), await chargeKey(shop, 'order-2')];
  service.approve(references[1] ?? '');
  await shop.followUps.notify(write(references));
  expect(await shop.followUps.sweep()).toMatchObject({ checked: 2, final: 1 });
  expect(checks).toHaveLength(2);
  expect(finals).toMatchObject([{ key: 'order-2' }]);
  expect(events.filter(({ type }) => type === 'warning')).toEqual([]);
});

test.each([
  ...['', 'TXN', 'order-1', '../../admin', `TXN-${'x'.repeat(300)}`],
  ...[17, null, undefined, {}, [], { data: { amount: 1 } }],
])('reads nothing for %o, which names no reference, and warns of it', async (body) => {
  const store = memoryStore();
  const read = vi.spyOn(store, 'read');
  const { shop, events } = world({ store });
  await shop.followUps.notify(body);
  expect(read).not.toHaveBeenCalled();
  expect(events).toEqual([{ type: 'warning', code: 'no_reference', message: expect.any(String) }]);
});

test('a notification wakes a run and the waits of its process at once', async () => {
  const { shop, service, clock, finals } = world();
  const references = [await chargeKey(shop, 'order-1'), await chargeKey(shop, 'order-2')];
  void shop.followUps.run();
  const waiting = shop.payments.waitForFinalStatus(references[1] ?? '', { startedAt: Date.now() });
  await clock.pass(1_500);
  for (const reference of references) service.approve(reference);
  await shop.followUps.notify(references[0]);
  await clock.pass(100);
  expect(finals).toMatchObject([{ key: 'order-1', status: 'success' }]);
  await shop.followUps.notify(references[1]);
  expect(await waiting).toMatchObject({ status: 'success' });
  expect(clock.now).toBeLessThan(2 * SECOND);
});

test('a notification wakes a run that is just about to sleep', async () => {
  let meanwhile = async () => {};
  const store = wrapStore(memoryStore(), async ({ method }, run) => {
    const result = await run();
    if (method === 'countDue') await meanwhile();
    return result;
  });
  const { shop, service, checks, finals, clock } = world({ store });
  const reference = await chargeKey(shop);
  void shop.followUps.run();
  meanwhile = async () => {
    if (checks.length !== 1 || finals.length > 0) return;
    service.approve(reference);
    await shop.followUps.notify(reference);
  };
  await clock.until(() => finals.length > 0);
  // A second apart, and not by the schedule.
  expect((checks[1]?.at ?? 0) - (checks[0]?.at ?? 0)).toBeLessThan(1_500);
});

test('a paid payment is not checked again, however long its handler takes', async () => {
  const called: number[] = [];
  const { shop, service, clock, checks } = world({
    async onFinal() {
      called.push(clock.now);
      await clock.pass(20 * SECOND);
      if (called.length === 1) throw new Error('The shop is away.');
    },
  });
  const reference = await chargeKey(shop);
  service.approve(reference);
  await clock.pass(8 * SECOND);
  const sweeping = shop.followUps.sweep();
  await clock.pass(SECOND);
  for (const calls of [1, 1, 2, 2]) {
    await shop.followUps.notify(reference);
    await sweepFor(calls === 1 ? 10 * SECOND : MINUTE, shop.followUps);
    expect(called).toHaveLength(calls);
  }
  await sweeping;
  expect(checks).toHaveLength(1);
});

describe('a journal that fails', () => {
  test.each([
    ['is an event, and no rejection', () => Promise.reject(new Error('the database is away')), 0],
    ['is waited for 15 s at most', never, 15],
  ])('%s', async (_, fail, seconds) => {
    let isAway = false;
    const store = wrapStore(memoryStore(), (_step, run) => (isAway ? fail() : run()));
    const { shop, clock, events } = world({ store });
    const reference = await chargeKey(shop);
    isAway = true;
    await shop.followUps.notify(reference);
    expect(clock.now).toBeLessThanOrEqual(seconds * SECOND);
    const failed = { result: 'failed', reference, error: expect.any(String) };
    expect(findFollowUps(events)).toMatchObject([failed]);
  });
});
