/** Orders that need a person, for each reason. */

import type { AttentionReason } from '../../../src/orders/index.ts';
import { note } from '../../helpers/resolution-note.ts';
import { DAY, getReference, MINUTE, momo, SECOND, sweepFor, type World, world } from '../../helpers/world.ts';

export const otherNumber = { ...momo, phone: '055 000 1111' };
export const dearer = { ...momo, amount: '30.00' };
export const another = { startAnother: true };

type Begin = (world: World) => Promise<void>;

/** Brings the order 17 to where its first payment needs a person. */
export const beginnings: Readonly<Record<AttentionReason, Begin>> = {
  async unresolved({ shop, service }) {
    service.fault('chargeMobileMoney', { kind: 'responseLost' });
    await shop.orders.charge('17', momo);
  },
  async shared_reference({ shop, service }) {
    const reference = getReference(await shop.orders.charge('16', momo));
    service.fault('chargeMobileMoney', { kind: 'wrongReference', reference });
    await shop.orders.charge('17', momo);
  },
  async paid_twice({ shop: { orders }, service, clock }) {
    const first = getReference(await orders.charge('17', momo));
    await clock.pass(2 * SECOND);
    service.approve(getReference(await orders.charge('17', otherNumber, another)));
    await sweepFor(MINUTE, orders);
    service.approve(first);
    await sweepFor(MINUTE, orders);
  },
  async price_changed({ shop: { orders }, service, clock }) {
    const first = getReference(await orders.charge('17', momo));
    await clock.pass(2 * SECOND);
    service.decline(getReference(await orders.charge('17', dearer, another)));
    service.approve(first);
    await sweepFor(MINUTE, orders);
  },
  async mismatch({ shop: { orders }, service }) {
    service.approve(getReference(await orders.charge('17', momo)));
    service.fault('verify', { kind: 'wrongAmount', amount: '20.00' }, { times: 1_000 });
    await sweepFor(MINUTE, orders);
  },
  async gone({ shop: { orders }, service }) {
    await orders.charge('17', momo);
    service.fault('verify', { kind: 'status', status: 404 }, { times: 1_000 });
    await sweepFor(MINUTE, orders);
  },
  async unreadable({ shop: { orders }, service, clock }) {
    await orders.charge('17', momo);
    service.fault('verify', { kind: 'status', status: 422 }, { times: 1_000 });
    await sweepFor(MINUTE, orders);
    await clock.pass(2 * DAY);
    await sweepFor(MINUTE, orders);
  },
  async overdue({ shop, clock }) {
    await shop.orders.charge('17', momo);
    await clock.pass(8 * DAY);
  },
};

/** A payment that a person closed while it was unpaid, and that the customer paid after that. */
export const payAfterClosing: Begin = async (made) => {
  await beginnings.overdue(made);
  const { shop, service } = made;
  const { reference = '' } = await shop.payments.resolve('17/1', 'closed', note);
  service.approve(reference);
  await shop.orders.notify({ reference });
  await sweepFor(MINUTE, shop.orders);
};

/** Makes a world whose order 17 needs a person about its payment 17/1. */
export async function openReviewed(begin: AttentionReason | Begin): Promise<World> {
  const made = world();
  await (typeof begin === 'string' ? beginnings[begin] : begin)(made);
  return made;
}
