/** Orders that need a person, for each reason. The clocks must be fake. */

import { vi } from 'vitest';
import type { AttentionReason, OrderStatus } from '../../src/orders/index.ts';
import { SECOND } from './fake-clock.ts';
import { pass } from './fake-timers.ts';
import { finish } from './follow-ups.ts';
import { momo, type OrderProcess, type OrderShop, openOrderShop } from './order-shop.ts';
import { note } from './resolution-note.ts';

export const HOUR = 60 * 60 * SECOND;
export const DAY = 24 * HOUR;

export const otherNumber = { ...momo, phone: '055 000 1111' };
export const dearer = { ...momo, amount: '30.00' };
export const another = { startAnother: true };

export const getReference = ({ payments }: OrderStatus, number = payments.length) =>
  payments[number - 1]?.reference ?? '';

type Begin = (orders: OrderProcess, shop: OrderShop) => Promise<void>;

/** Brings the order 17 to where its first payment needs a person. */
export const beginnings: Readonly<Record<AttentionReason, Begin>> = {
  async unresolved({ charge }, { service }) {
    service.fault('chargeMobileMoney', { kind: 'responseLost' });
    await finish(charge('17', momo));
  },
  async shared_reference({ charge }, { service }) {
    const reference = getReference(await finish(charge('16', momo)));
    service.fault('chargeMobileMoney', { kind: 'wrongReference', reference });
    await finish(charge('17', momo));
  },
  async paid_twice({ charge, sweep }, { service }) {
    const first = getReference(await finish(charge('17', momo)));
    await pass(2 * SECOND);
    service.approve(getReference(await finish(charge('17', otherNumber, another))));
    await sweepLater(sweep);
    service.approve(first);
    await sweepLater(sweep);
  },
  async price_changed({ charge, sweep }, { service }) {
    const first = getReference(await finish(charge('17', momo)));
    await pass(2 * SECOND);
    service.decline(getReference(await finish(charge('17', dearer, another))));
    service.approve(first);
    await sweepLater(sweep);
  },
  async mismatch({ charge, sweep }, { service }) {
    service.approve(getReference(await finish(charge('17', momo))));
    service.fault('verify', { kind: 'wrongAmount', amount: '20.00' }, { times: 1_000 });
    await sweepLater(sweep);
  },
  async gone({ charge, sweep }, { service }) {
    await finish(charge('17', momo));
    service.fault('verify', { kind: 'status', status: 404 }, { times: 1_000 });
    await sweepLater(sweep);
  },
  async unreadable({ charge, sweep }, { service }) {
    await finish(charge('17', momo));
    service.fault('verify', { kind: 'status', status: 422 }, { times: 1_000 });
    await sweepLater(sweep);
    vi.setSystemTime(Date.now() + 2 * DAY);
    await sweepLater(sweep);
  },
  async overdue({ charge }) {
    await finish(charge('17', momo));
    vi.setSystemTime(Date.now() + 8 * DAY);
  },
};

/** A payment that a person closed while it was unpaid, and that the customer paid after that. */
export const payAfterClosing: Begin = async (orders, shop) => {
  await beginnings.overdue(orders, shop);
  const closed = await finish(orders.payments.resolve('17/1', 'closed', note));
  shop.service.approve(closed.reference ?? '');
  await finish(orders.notify({ reference: closed.reference }));
  await sweepLater(orders.sweep);
};

async function sweepLater(sweep: OrderProcess['sweep']): Promise<void> {
  for (let sweeps = 0; sweeps < 4; sweeps++) {
    await pass(20 * SECOND);
    await finish(sweep());
  }
}

/** A shop whose order 17 needs a person about its payment 17/1, and one process of it. */
export interface ReviewedOrder {
  readonly shop: OrderShop;
  readonly orders: OrderProcess;
}

/** Opens a shop whose order 17 needs a person for a reason. */
export async function openReviewed(reason: AttentionReason): Promise<ReviewedOrder> {
  const shop = openOrderShop();
  const orders = shop.start();
  await beginnings[reason](orders, shop);
  return { shop, orders };
}
