/** What was found of earlier editions, with two processes of a shop and a real database. */

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { PATIENCE } from '../../helpers/patience.ts';
import type { ShopSettings, Status } from './breaks/messages.ts';
import { type BreakService, startBreakService } from './breaks/service.ts';
import { ActionError, ShopProcess } from './breaks/shop-process.ts';
import type { RunningDatabase } from './database.ts';
import { loadDatabase } from './load-database.ts';

const OTHER_PHONE = '055 000 1111';
/** No machine is so busy that it expires. In milliseconds. */
const LEASE = 120_000;

const kinds = await Promise.all(
  ['better-sqlite3', 'postgres', 'mysql', 'redis'].map(async (kind) => ({
    kind,
    database: await loadDatabase(kind),
  })),
);
for (const { kind, database } of kinds)
  if (database.missing !== undefined) console.warn(`The breaks on ${kind} are skipped: ${database.missing}`);

describe.each(kinds)('two processes on $kind', ({ kind, database }) => {
  if (database.missing !== undefined) return;
  let running: RunningDatabase;
  let service: BreakService;
  let one: ShopProcess;
  let two: ShopProcess;

  const start = async (settings: Partial<ShopSettings> = {}) => {
    const { place } = running;
    const { baseUrl } = service;
    return await ShopProcess.start({ kind, place, baseUrl, lease: LEASE, isFaulty: false, ...settings });
  };
  const startForTest = async (settings: Partial<ShopSettings>) => {
    const started = await start(settings);
    onTestFinished(() => started.stop());
    return started;
  };
  beforeAll(async () => {
    running = await database.start();
    await database.prepare(running.place);
    service = await startBreakService();
    [one, two] = await Promise.all([start(), start()]);
  });
  afterAll(async () => {
    await Promise.all([one?.stop(), two?.stop()]);
    await service?.stop();
    await running?.stop();
  });

  /** The calls of handlers about an order, in all processes. */
  const listCalls = (order: string) => [...one.called, ...two.called].filter((call) => call.order === order);
  const countCalls = (order: string) =>
    listCalls(order).map(({ called, reason = '' }) => `${called} ${reason}`.trim());

  /** Sweeps until what is owed about an order has been told. */
  const sweepUntil = async (isTold: () => boolean, sweeper = two) => {
    await expect
      .poll(
        async () => {
          await sweeper.run({ do: 'sweep' });
          return isTold();
        },
        { interval: 50, timeout: PATIENCE },
      )
      .toBe(true);
  };
  const sweepUntilTold = (order: string, ...expected: string[]) =>
    sweepUntil(() => expected.every((call) => countCalls(order).includes(call)));

  /** Begins a payment, and leaves its request with the service. */
  const beginPayment = async (order: string, input: Parameters<ShopProcess['charge']>[1] = {}, of = one) => {
    const caught = service.catchPost(order);
    const charging = of.charge(order, input);
    // It is awaited later.
    charging.catch(() => {});
    return { post: await caught, charging };
  };

  /** Makes the next press check a payment: it does not check one that began within the last second. */
  const pressUntilChecked = async (order: string, reference: string) => {
    const caught = service.catchCheck(reference);
    for (;;) {
      const charging = one.charge(order);
      const respond = await Promise.race([caught, charging.then(() => undefined)]);
      if (respond) return { respond, charging };
    }
  };

  test('1: pays one of two orders that the service answers with one transaction', async () => {
    for (let round = 1; round <= 10; round++) {
      const [first, second] = [`17-${round}`, `18-${round}`];
      const reference = `TXN-SHARED-${round}`;
      const begun = await Promise.all([beginPayment(first, {}, one), beginPayment(second, {}, two)]);
      for (const { post } of begun) post.accept(reference);
      await Promise.all(begun.map(({ charging }) => charging));
      service.setStatus(reference, 'success');
      const statuses = await Promise.all([one.wait(first), two.wait(second)]);
      const paid = statuses.findIndex(({ state }) => state === 'paid');
      const [winner, loser] = paid === 0 ? [first, second] : [second, first];
      expect(statuses[paid]).toMatchObject({ state: 'paid', payment: { reference } });
      const refused = { state: 'in_review', reason: 'shared_reference', payment: { reference } };
      expect(statuses[1 - paid]).toMatchObject(refused);
      expect(await two.read(loser)).toMatchObject(refused);
      expect(await one.charge(loser)).toMatchObject(refused);
      await sweepUntilTold(winner, 'onPaid');
      await sweepUntilTold(loser, 'onAttention shared_reference');
      await one.run({ do: 'resolve', key: `${loser}/1`, resolution: 'closed' });
      expect(await two.read(loser)).toMatchObject({ state: 'unpaid', canPay: true });
      expect(await two.read(winner)).toMatchObject({ state: 'paid', payment: { reference } });
      expect([countCalls(winner), countCalls(loser)]).toEqual([['onPaid'], ['onAttention shared_reference']]);
    }
  });

  test('2: delivers an order whose two presses got one transaction', async () => {
    const order = 'two-presses';
    const first = await beginPayment(order);
    const second = await beginPayment(order, { phone: OTHER_PHONE, startAnother: true }, two);
    const reference = first.post.accept();
    second.post.accept(reference);
    await Promise.all([first.charging, second.charging]);
    service.setStatus(reference, 'success');
    await two.wait(order);
    await sweepUntilTold(order, 'onPaid');
    expect(await one.read(order)).toMatchObject({ state: 'paid', payment: { reference } });
    expect(countCalls(order)).not.toContain('onAttention paid_twice');
    expect(countCalls(order).filter((call) => call === 'onPaid')).toHaveLength(1);
  });

  test('3: prunes no order whose price changed, and sends nothing for it', async () => {
    const order = 'repriced';
    const first = (await one.charge(order, { amount: 10 })).payment?.reference ?? '';
    const dearer = { amount: 12, phone: OTHER_PHONE, startAnother: true };
    const second = (await two.charge(order, dearer)).payments.at(-1)?.reference ?? '';
    service.setStatus(second, 'failed');
    service.setStatus(first, 'success');
    await sweepUntilTold(order, 'onAttention price_changed');
    await two.run({ do: 'prune', unfollowed: true });
    const inReview = { state: 'in_review', reason: 'price_changed', payment: { reference: first } };
    expect(await one.read(order)).toMatchObject(inReview);
    expect(await one.charge(order, dearer)).toMatchObject(inReview);
    expect(service.chargesFor(order)).toEqual([first, second]);
  });

  test('4: follows the charge of a process that thaws after not_charged', async () => {
    const order = 'frozen';
    const frozen = await startForTest({ lease: 5_000 });
    const late = await beginPayment(order, {}, frozen);
    await frozen.run({ do: 'freeze' });
    await expect
      .poll(() => two.read(order), { interval: 200, timeout: PATIENCE })
      .toMatchObject({ state: 'in_review', reason: 'unresolved' });
    await two.run({ do: 'resolve', key: `${order}/1`, resolution: 'not_charged' });
    const next = (await two.charge(order)).payment?.reference ?? '';
    const thawed = late.post.accept();
    frozen.thaw();
    await late.charging.catch((error: unknown) => expect(error).toBeInstanceOf(ActionError));
    const references = (status: Status) => status.payments.map(({ reference }) => reference).sort();
    expect(references(await two.read(order))).toEqual([next, thawed].sort());
    for (const reference of [next, thawed]) service.setStatus(reference, 'success');
    await sweepUntilTold(order, 'onPaid', 'onAttention paid_twice');
    const [paid, ...others] = listCalls(order).filter(({ called }) => called === 'onPaid');
    expect(others).toEqual([]);
    const twice = listCalls(order).filter(({ reason }) => reason === 'paid_twice');
    expect([paid, ...twice].map((call) => call?.reference).sort()).toEqual([next, thawed].sort());
  });

  test('5: joins the open payment after another was refused with 422', async () => {
    const order = 'refused';
    const { payment } = await one.charge(order);
    const another = await beginPayment(order, { phone: OTHER_PHONE, startAnother: true }, two);
    another.post.refuse(422);
    expect(await another.charging).toMatchObject({ state: 'processing', canPay: false, payment });
    expect(await one.read(order)).toMatchObject({ state: 'processing', payment });
    expect(await two.charge(order)).toMatchObject({ state: 'processing', payment });
    expect(service.chargesFor(order)).toEqual([payment?.reference]);
  });

  test('6: joins the open payment of a number that the customer returns to', async () => {
    const order = 'there-and-back';
    const first = await one.charge(order);
    await two.charge(order, { phone: OTHER_PHONE, startAnother: true });
    const again = await two.charge(order, { startAnother: true });
    expect(again.payment?.reference).toBe(first.payment?.reference);
    expect(service.chargesFor(order)).toHaveLength(2);
  });

  test('7: asks a person if the old price is paid after a press at another', async () => {
    const order = 'dearer';
    const reference = (await one.charge(order)).payment?.reference ?? '';
    expect(await two.charge(order, { amount: 30 })).toMatchObject({ state: 'processing', differs: true });
    service.setStatus(reference, 'success');
    await sweepUntilTold(order, 'onAttention price_changed');
    expect(await one.read(order)).toMatchObject({ state: 'in_review', reason: 'price_changed' });
    expect(countCalls(order)).toEqual(['onAttention price_changed']);
  });

  test('8: refuses a process of another service before it changes anything', async () => {
    const order = 'of-one-service';
    const { payment } = await one.charge(order);
    const other = await startBreakService({ isAlwaysPaid: true });
    onTestFinished(() => other.stop());
    const stranger = await startForTest({ baseUrl: other.baseUrl });
    const input = { phone: OTHER_PHONE };
    for (const act of [
      () => stranger.charge(order),
      () => stranger.charge(order, input),
      () => stranger.charge(order, { ...input, startAnother: true }),
      () => stranger.wait(order),
    ])
      await expect(act()).rejects.toThrow('ConfigurationError');
    expect(other.chargesFor(order)).toEqual([]);
    const [own, ...added] = (await one.read(order)).payments;
    expect([own, ...added]).toEqual([payment]);
    expect(await two.charge(order)).toMatchObject({ state: 'processing', payment });
  });

  test('9: counts a check only for the transaction that it asked for', async () => {
    const order = 'begun-again';
    const before = (await one.charge(order)).payment?.reference ?? '';
    const hanging = await pressUntilChecked(order, before);
    service.setStatus(before, 'success');
    await sweepUntilTold(order, 'onPaid');
    await two.run({ do: 'prune', unfollowed: false });
    const after = await two.charge(order);
    const { reference } = after.payment ?? {};
    expect(service.chargesFor(order)).toEqual([before, reference]);
    hanging.respond();
    expect(await hanging.charging).toMatchObject({ state: 'processing', payment: { reference } });
    expect(await two.read(order)).toMatchObject({ state: 'processing', payment: { reference } });
    expect(service.chargesFor(order)).toHaveLength(2);
  });

  test('10: delivers an order that was paid on a page after a card failed', async () => {
    const order = 'second-card';
    const reference = (await one.checkout(order)).payment?.reference ?? '';
    service.setStatus(reference, 'failed');
    await sweepUntilTold(order, 'onUnpaid');
    service.setStatus(reference, 'success');
    await two.run({ do: 'notify', reference });
    await sweepUntilTold(order, 'onPaid');
    expect(await one.checkout(order)).toMatchObject({ state: 'paid', payment: { reference } });
    expect(service.chargesFor(order)).toEqual([reference]);
  });

  test('11: records a charge once a database that was away is back', async () => {
    const order = 'away';
    const { post, charging } = await beginPayment(order);
    await running.takeAway();
    let reference: string;
    try {
      reference = post.accept();
      expect(await charging).toMatchObject({ state: 'processing', payment: { reference } });
      expect(listCalls(`${order}/1`)).toMatchObject([{ called: 'not_recorded', reference }]);
    } finally {
      await running.bringBack();
    }
    await expect
      .poll(() => two.read(order).catch(() => undefined), { interval: 200, timeout: PATIENCE })
      .toMatchObject({ state: 'processing', payment: { reference } });
    expect(await two.charge(order)).toMatchObject({ state: 'processing', payment: { reference } });
    service.setStatus(reference, 'success');
    await sweepUntilTold(order, 'onPaid');
    expect(service.chargesFor(order)).toEqual([reference]);
  });

  test('12: says unpaid only of orders that are not charged', async () => {
    const presses = await Promise.all([startForTest({ isFaulty: true }), startForTest({ isFaulty: true })]);
    const pressInTurn = async (order: string) => {
      const wrong: unknown[] = [];
      for (const shop of [...presses, ...presses]) {
        const status = await shop.charge(order).catch((error: unknown) => {
          expect(error).toBeInstanceOf(ActionError);
          return undefined;
        });
        if (status?.state === 'unpaid' && service.chargesFor(order).length > 0) wrong.push(status);
        if (status?.canPay && ['review', 'check'].includes(status.error?.nextStep ?? '')) wrong.push(status);
      }
      return wrong;
    };
    const orders = Array.from({ length: 50 }, (_, index) => `faulty-${index}`);
    const wrong = await Promise.all(orders.map(pressInTurn));
    expect(wrong.flat()).toEqual([]);
    expect(orders.filter((order) => service.chargesFor(order).length > 1)).toEqual([]);
    expect(orders.filter((order) => service.chargesFor(order).length === 1).length).toBeGreaterThan(0);
  });
});
