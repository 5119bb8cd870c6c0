import { expect, test } from 'vitest';
import { check } from '../../../src/ledger/check.ts';
import { findReview, getState, isClaimVoid, listAttention } from '../../../src/ledger/order.ts';
import { complete, notify } from '../../../src/ledger/outcome.ts';
import { askPrice, press } from '../../../src/ledger/press.ts';
import { type LedgerRecord, putPayment } from '../../../src/ledger/record.ts';
import {
  addTransaction,
  confirmReference,
  getSight,
  listFitting,
  listOffers,
  nameReference,
  type Reviewer,
  resolve,
  takeBack,
} from '../../../src/ledger/resolve.ts';
import { BEGAN_AT, createOrder, madePayment } from './records.ts';

const NOW = BEGAN_AT + 60_000;

const unresolved = createOrder({ ...madePayment, charge: { is: 'unknown', why: 'no_result' } });

let ids = 0;
const look = (record: LedgerRecord): Reviewer => ({
  id: `resolution-${ids++}`,
  by: 'kofi@shop.example',
  reason: 'found it',
  sight: getSight(record, 1, NOW),
  now: NOW,
});

function expectDone(resolved: ReturnType<typeof resolve>): LedgerRecord {
  if (resolved.is !== 'done') throw new Error(`It is ${resolved.is}.`);
  return resolved.record;
}

/** A person found the transaction of the payment, and nobody else has it. */
function giveReference(record: LedgerRecord, reference: string): LedgerRecord {
  const reviewer = look(record);
  const named = expectDone(nameReference(record, 1, reference, reviewer));
  const made = { is: 'made', result: { reference }, isClaimed: true } as const;
  return confirmReference(named, made, reviewer) ?? named;
}

const see = (record: LedgerRecord, reference: string, status: string): LedgerRecord =>
  check(
    record,
    reference,
    { is: 'answered', status, paid_at: null },
    { askedAt: NOW, now: NOW, random: 0.5 },
  ) ?? record;

test('what was seen of a transaction does not count for another one', () => {
  const given = giveReference(unresolved, 'TXN-1');
  const paid = see(askPrice(given, { amount: '30.00', currency: 'GHS' }), 'TXN-1', 'success');
  expect(listAttention(paid, NOW)).toMatchObject([{ reason: 'price_changed' }]);
  const takenBack = expectDone(takeBack(paid, 1, look(paid)));
  const another = giveReference(askPrice(takenBack, { amount: '25.50', currency: 'GHS' }), 'TXN-2');
  expect(another.payments[0]?.charge).toMatchObject({ is: 'made', result: { reference: 'TXN-2' } });
  expect(another.winner).toBeUndefined();
  expect(getState(another, NOW)).toBe('processing');
});

test('keeps every decision, and what it replaced', () => {
  const given = giveReference(unresolved, 'TXN-1');
  const takenBack = expectDone(takeBack(given, 1, look(given)));
  expect(takenBack.payments[0]?.charge).toEqual({ is: 'unknown', why: 'no_result' });
  expect(isClaimVoid(takenBack, 'TXN-1')).toBe(true);
  const closed = expectDone(resolve(takenBack, 1, 'closed', look(takenBack)));
  expect(closed.payments[0]?.resolutions.map(({ resolution }) => resolution)).toEqual([
    { reference: 'TXN-1' },
    'taken_back',
    'closed',
  ]);
  expect(getState(closed, NOW)).toBe('unpaid');
});

test('counts only a decision about what the person saw', () => {
  const [one, other] = [look(unresolved), look(unresolved)];
  const record = expectDone(resolve(unresolved, 1, 'not_charged', one));
  expect(resolve(record, 1, 'closed', other)).toEqual({ is: 'changed' });
  // The process that wrote it and did not hear of it recognises it.
  expect(resolve(record, 1, 'not_charged', one)).toEqual({ is: 'done', record });
});

test('keeps who decided about an attempt, which decides nothing of the next', () => {
  const free = expectDone(resolve(unresolved, 1, 'not_charged', look(unresolved)));
  const { charge: _, ...asked } = madePayment;
  const ask = { ...asked, attempt: 'attempt-2' };
  const owner = { kind: 'order', service: free.service } as const;
  const { record } = press(free, owner, { ask, lease: 10_000, since: NOW, now: NOW, startAnother: false });
  const [payment] = record.payments;
  expect(payment).toMatchObject({ attempt: 'attempt-2', resolutions: [{ by: 'kofi@shop.example' }] });
  const { record: lost } = complete(record, owner, ask, { is: 'unknown' }, NOW);
  expect(lost && listOffers(lost, 1, NOW)).toEqual(['reference', 'not_charged', 'closed']);
  expect(lost && takeBack(lost, 1, look(lost))).toEqual({ is: 'unfit' });
});

test('lists a closed payment again if it is paid after all', () => {
  const overdue = createOrder({ ...madePayment, createdAt: NOW - 8 * 24 * 60 * 60 * 1000 });
  expect(listAttention(overdue, NOW)).toMatchObject([{ reason: 'overdue' }]);
  expect(listFitting(overdue, 1, NOW)).toEqual(['closed']);
  const closed = expectDone(resolve(overdue, 1, 'closed', look(overdue)));
  expect(listAttention(closed, NOW)).toEqual([]);
  const paid = see(closed, 'TXN-1', 'success');
  expect(listAttention(paid, NOW)).toMatchObject([{ reason: 'price_changed' }]);
  expect(getState(paid, NOW)).toBe('unpaid');
  expect(listAttention(expectDone(resolve(paid, 1, 'closed', look(paid))), NOW)).toEqual([]);
  expect(expectDone(takeBack(paid, 1, look(paid))).winner).toBe(1);
});

test('what was paid with another amount is in review, whatever was pressed', () => {
  const seen = { reference: 'TXN-1', status: 'success', other: { amount: '2.55', currency: 'GHS' } };
  const charge = { is: 'made', result: { reference: 'TXN-2' } } as const;
  const order = createOrder({ ...madePayment, seen });
  const record = putPayment(order, 2, { ...madePayment, attempt: 'attempt-2', pressed: 2, charge });
  expect(getState(record, NOW)).toBe('in_review');
  expect(findReview(record, NOW)).toMatchObject({ number: 1, reason: 'mismatch' });
});

test('offers what fits now, and what fits in place of a decision', () => {
  expect(listOffers(unresolved, 1, NOW)).toEqual(['reference', 'not_charged', 'closed']);
  const closed = expectDone(resolve(unresolved, 1, 'closed', look(unresolved)));
  expect(listOffers(closed, 1, NOW)).toEqual(['reference', 'not_charged']);
  const winner = see(createOrder({ ...madePayment }), 'TXN-1', 'success');
  expect(listOffers(winner, 1, NOW)).toEqual([]);
  expect(listOffers(createOrder({ ...madePayment }), 1, NOW)).toEqual([]);
  const overdue = createOrder({ ...madePayment, createdAt: NOW - 8 * 24 * 60 * 60 * 1000 });
  const paid = see(expectDone(resolve(overdue, 1, 'closed', look(overdue))), 'TXN-1', 'success');
  expect(listOffers(paid, 1, NOW)).toEqual(['closed']);
});

test('writes what a webhook names to the payment that is unresolved', () => {
  expect(notify(unresolved, 'TXN-7', NOW).payments).toMatchObject([
    { charge: { is: 'unknown', why: 'notified', reference: 'TXN-7' } },
  ]);
  const closed = createOrder({ ...madePayment, charge: { is: 'closed' } });
  expect(notify(closed, 'TXN-7', NOW).payments).toMatchObject([
    { charge: { is: 'closed' } },
    { charge: { is: 'unknown', why: 'notified', reference: 'TXN-7' }, pressed: 0, amount: '25.50' },
  ]);
});

test('decisions are taken back one by one', () => {
  const given = giveReference(unresolved, 'TXN-1');
  const other = { amount: '2.55', currency: 'GHS' };
  const finding = { is: 'answered', status: 'success', paid_at: null, other } as const;
  const seen = check(given, 'TXN-1', finding, { askedAt: NOW, now: NOW, random: 0.5 }) ?? given;
  const closed = expectDone(resolve(seen, 1, 'closed', look(seen)));
  const once = expectDone(takeBack(closed, 1, look(closed)));
  expect(once.payments[0]?.charge).toMatchObject({ is: 'made' });
  const payments = [{ charge: { is: 'unknown', why: 'no_result' } }];
  expect(takeBack(once, 1, look(once))).toMatchObject({ is: 'done', record: { payments } });
});

test('a transaction that a payment of the order might have is not added', () => {
  const charge = { is: 'unknown', why: 'notified', reference: 'TXN-1' } as const;
  const order = createOrder({ ...madePayment, charge });
  expect(addTransaction(order, 'TXN-1', look(order))).toEqual({ is: 'unfit' });
});

test('a person who saw the order at another price decides nothing', () => {
  const asked = askPrice(createOrder(), { amount: '30.00', currency: 'GHS' });
  const paid = see(asked, 'TXN-1', 'success');
  const reviewer = look(paid);
  const again = askPrice(paid, { amount: '40.00', currency: 'GHS' });
  expect(resolve(again, 1, 'accepted', reviewer)).toEqual({ is: 'changed' });
});
