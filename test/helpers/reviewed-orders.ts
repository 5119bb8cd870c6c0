import { vi } from 'vitest';
import type { AttentionReason, OrderStatus } from '../../src/orders/index.ts';
import { MINUTE, SECOND } from './fake-clock.ts';
import { pass } from './fake-timers.ts';
import { finish } from './follow-ups.ts';
import { momo, type OrderProcess, type OrderShop, openOrderShop } from './order-shop.ts';

export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

export const otherNumber = { ...momo, phone: '055 000 1111' };
export const dearer = { ...momo, amount: '30.00' };
export const another = { startAnother: true };

/** Returns the reference of the latest payment, or of another one. */
export const getReference = ({ payments }: OrderStatus, number = payments.length): string =>
  payments[number - 1]?.reference ?? '';

const ALWAYS = { times: 1_000 };

/** How an order comes to need a person: checks find out the rest. The payment that needs one is 17/1. */
const beginnings: Readonly<
  Record<AttentionReason, (orders: OrderProcess, shop: OrderShop) => Promise<void>>
> = {
  async unresolved({ charge }, { service }) {
    service.fault('chargeMobileMoney', { kind: 'responseLost' });
    await finish(charge('17', momo));
  },
  async shared_reference({ charge }, { service }) {
    const reference = getReference(await finish(charge('16', momo)));
    service.fault('chargeMobileMoney', { kind: 'wrongReference', reference });
    await finish(charge('17', momo));
  },
  async price_changed({ charge }, { service }) {
    const first = getReference(await finish(charge('17', momo)));
    await pass(2 * SECOND);
    service.decline(getReference(await finish(charge('17', dearer, another))));
    service.approve(first);
  },
  async mismatch({ charge }, { service }) {
    service.approve(getReference(await finish(charge('17', momo))));
    service.fault('verify', { kind: 'wrongAmount', amount: '20.00' }, ALWAYS);
  },
  async paid_twice({ charge, sweep }, { service }) {
    const first = getReference(await finish(charge('17', momo)));
    await pass(2 * SECOND);
    service.approve(getReference(await finish(charge('17', otherNumber, another))));
    await pass(10 * SECOND);
    await finish(sweep());
    service.approve(first);
  },
  async gone({ charge }, { service }) {
    await finish(charge('17', momo));
    service.fault('verify', { kind: 'status', status: 404 }, ALWAYS);
  },
  async unreadable({ charge }, { service }) {
    await finish(charge('17', momo));
    service.fault('verify', { kind: 'status', status: 400 }, ALWAYS);
  },
  async overdue({ charge }) {
    await finish(charge('17', momo));
  },
};

export const REASONS: readonly AttentionReason[] = [
  'unresolved',
  'shared_reference',
  'price_changed',
  'mismatch',
  'paid_twice',
  'gone',
  'unreadable',
  'overdue',
];

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
  if (reason === 'overdue') vi.setSystemTime(Date.now() + 7 * DAY);
  const step = reason === 'unreadable' ? 13 * HOUR : 20 * SECOND;
  for (let sweeps = 0; sweeps < 4 && !(await isListed(orders, reason)); sweeps++) {
    vi.setSystemTime(Date.now() + step);
    await finish(orders.sweep());
  }
  if (!(await isListed(orders, reason))) throw new Error(`17/1 does not need a person: ${reason}`);
  return { shop, orders };
}

async function isListed({ journal }: OrderProcess, reason: AttentionReason): Promise<boolean> {
  const entry = await finish(journal.read('17/1'));
  return entry?.attention === reason;
}
