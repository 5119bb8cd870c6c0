/** What a person can decide about each reason, and what follows: docs/runbook.md and the table of `payments.resolve`. */

import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { Resolution } from '../../../src/index.ts';
import type { AttentionReason } from '../../../src/orders/index.ts';
import { SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks } from '../../helpers/fake-timers.ts';
import { finish } from '../../helpers/follow-ups.ts';
import { momo, postsOf } from '../../helpers/order-shop.ts';
import { note } from '../../helpers/resolution-note.ts';
import { openReviewed, REASONS, type ReviewedOrder } from '../../helpers/reviewed-orders.ts';
import { catchError } from '../../helpers/service.ts';

beforeEach(() => {
  fakeClocks();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

type Offer = 'reference' | 'not_charged' | 'accepted' | 'closed';
const OFFERS: readonly Offer[] = ['reference', 'not_charged', 'accepted', 'closed'];

/** The state of the order then, and the payment that the next press begins. */
type Follows = `${'processing' | 'paid' | 'unpaid'}${'' | `, charges ${string}`}`;

const table: Readonly<Record<AttentionReason, Readonly<Partial<Record<Offer, Follows>>>>> = {
  unresolved: {
    reference: 'processing',
    not_charged: 'unpaid, charges 17/1',
    closed: 'unpaid, charges 17/2',
  },
  shared_reference: {
    reference: 'processing',
    not_charged: 'unpaid, charges 17/1',
    closed: 'unpaid, charges 17/2',
  },
  // Its payment 17/2, of the new price, was declined.
  price_changed: { accepted: 'paid', closed: 'unpaid, charges 17/3' },
  mismatch: { accepted: 'paid', closed: 'unpaid, charges 17/2' },
  paid_twice: { closed: 'paid' },
  gone: { closed: 'unpaid, charges 17/2' },
  unreadable: { closed: 'unpaid, charges 17/2' },
  overdue: { closed: 'unpaid, charges 17/2' },
};

const rows = REASONS.flatMap((reason) =>
  OFFERS.map((offer) => ({ reason, offered: table[reason], offer, follows: table[reason][offer] })),
);

/** The transaction that a person found is the last one that the service made. */
function toResolution({ shop }: ReviewedOrder, offer: Offer): Resolution {
  return offer === 'reference' ? { reference: shop.service.charges.at(-1)?.reference ?? '' } : offer;
}

const readEntry = ({ orders }: ReviewedOrder) => finish(orders.journal.read('17/1'));

/** Sweeps, and returns the payments that `onPaid` was called for. */
async function sweepPaid({ shop, orders }: ReviewedOrder): Promise<string[]> {
  shop.paid.length = 0;
  vi.setSystemTime(Date.now() + 20 * SECOND);
  await finish(orders.sweep());
  return shop.paid.map(({ payment }) => payment.key);
}

test.each(rows.filter(({ follows }) => follows))('decides $reason: $offer', async (row) => {
  const { reason, offered, offer, follows } = row;
  const reviewed = await openReviewed(reason);
  const { shop, orders } = reviewed;
  expect((await readEntry(reviewed))?.offers).toEqual(Object.keys(offered));
  const entry = await finish(orders.payments.resolve('17/1', toResolution(reviewed, offer), note));
  expect(entry).toMatchObject({ key: '17/1', attention: undefined, resolutions: [note] });
  expect((await finish(orders.journal.count())).attention).toBe(0);
  const { state, canPay } = await finish(orders.read('17'));
  expect(canPay).toBe(state === 'unpaid');
  shop.service.clearFaults();
  expect(await sweepPaid(reviewed)).toEqual(offer === 'accepted' ? ['17/1'] : []);
  const posts = postsOf(shop).length;
  const pressed = await finish(orders.charge('17', momo));
  const charges = postsOf(shop).length > posts ? `, charges ${pressed.payments.at(-1)?.key}` : '';
  expect(`${state}${charges}`).toBe(follows);
  const { reference } = pressed.payments.at(-1) ?? {};
  if (state === 'paid' || reference === undefined) return;
  // What goes on, or begins, pays the order.
  shop.service.approve(reference);
  expect(await sweepPaid(reviewed)).toEqual([pressed.payments.at(-1)?.key]);
});

/** Without what a check changes: a resolution that does not fit can find something out. */
async function readFacts(reviewed: ReviewedOrder) {
  const { orders } = reviewed;
  const { updatedAt: _, checkedAt: __, nextCheckAt: ___, ...entry } = (await readEntry(reviewed)) ?? {};
  return [entry, (await finish(orders.read('17'))).state];
}

describe.each(['payments', 'journal'] as const)('what does not fit, through %s', (door) => {
  test.each(rows.filter(({ follows }) => !follows))('$reason: $offer', async ({ reason, offered, offer }) => {
    const reviewed = await openReviewed(reason);
    const before = await readFacts(reviewed);
    const resolution = offer === 'reference' ? { reference: 'TXN-another' } : offer;
    const resolved: Promise<unknown> = reviewed.orders[door].resolve('17/1', resolution, note);
    const failure = await catchError(finish(resolved));
    expect(failure).toMatchObject({ name: 'JournalError', retryable: false });
    const word = offer === 'reference' ? '{ reference }' : offer;
    const fitting = Object.keys(offered).map((item) => (item === 'reference' ? '{ reference }' : item));
    expect(String(failure)).toContain(
      `"${word}" does not fit this payment. Nothing was changed. It can be ${fitting.join(' or ')}.`,
    );
    expect(await readFacts(reviewed)).toEqual(before);
  });
});

test('keeps a shared transaction that nobody has any more', async () => {
  const reviewed = await openReviewed('shared_reference');
  const { shop, orders } = reviewed;
  const { record } = await shop.store.read('order 16');
  await shop.store.delete?.([{ key: 'order 16', version: record?.version ?? '' }]);
  await finish(orders.payments.resolve('17/1', toResolution(reviewed, 'reference'), note));
  expect(await finish(orders.read('17'))).toMatchObject({
    state: 'in_review',
    payments: [{ reference: 'TXN-000002' }, { reference: 'TXN-000001', attention: 'unresolved' }],
  });
});
