/** A customer presses "Pay": what is known of the order decides whether anything is sent. The decision and the claim are one write. */

import { findShown, getState, hasRoom, recordWinner } from './order.ts';
import { isEnded, isNone, isOpen, isSamePrice, isSending, seenOf } from './payment.ts';
import { FORMAT, type LedgerRecord, type Payment, type Price, putPayment } from './record.ts';

/** How many earlier payments that might be paid are checked before the next one begins. */
const MAX_CHECKED = 10;
/** A payment that was checked, or that began, this long before a press is not checked by it, in milliseconds. */
const FRESH_FOR = 1_000;
const MAX_REQUEST_IDS = 20;

export interface Ask
  extends Pick<
    Payment,
    'operation' | 'amount' | 'currency' | 'network' | 'phone' | 'fingerprint' | 'schedule' | 'finalStatuses'
  > {
  /** The id of the attempt that begins if this press sends. A new one each time. */
  readonly attempt: string;
  readonly requestId?: string | undefined;
}

/** What a press does if the order allows it. */
export interface Press {
  readonly ask: Ask;
  /** How long a claim holds without a heartbeat, in milliseconds. */
  readonly lease: number;
  readonly since: number;
  readonly now: number;
  /** Whether the customer wants another payment while one is under way. */
  readonly startAnother: boolean;
}

export type PressDecision =
  /** Nothing: the order is paid, or a person decides. */
  | { readonly do: 'paid' | 'in_review' }
  /**
   * Check these references, and decide again. The price is recorded with each check, also with one that got no answer: {@link askPrice},
   * then `check`, in one write.
   */
  | { readonly do: 'check'; readonly references: readonly string[] }
  /** Nothing: this payment under way is what was asked for, or differs from it. */
  | { readonly do: 'join' | 'differ'; readonly number: number }
  /** Nothing: the order has as many payments as it can have. */
  | { readonly do: 'limit' }
  /** Of a key: this payment has its result, or will have it. */
  | { readonly do: 'replay'; readonly number: number }
  /** Send the request of this payment, under its claim. */
  | { readonly do: 'send'; readonly number: number }
  /** The attempt was claimed and cannot be sent any more: decide again, with the id of another attempt. */
  | { readonly do: 'again' };

/** The record as a press leaves it, and what is to be done. A record that is still the same is not written. */
export interface Pressed {
  readonly record: LedgerRecord;
  readonly decision: PressDecision;
}

export type Owner = Pick<LedgerRecord, 'kind' | 'service'>;

export function createRecord({ kind, service }: Owner, { amount, currency }: Price): LedgerRecord {
  return { format: FORMAT, kind, service, price: { amount, currency }, presses: 0, payments: [] };
}

/** Records the price that a press asks for. An earlier payment of that price might pay the order by it. */
export function askPrice(record: LedgerRecord, { amount, currency }: Price): LedgerRecord {
  const price = { amount, currency };
  if (record.winner !== undefined || isSamePrice(record.price, price)) return record;
  return recordWinner({ ...record, price });
}

/** Decides what a press does, and claims the next payment if it begins one. */
export function press(before: LedgerRecord | null, owner: Owner, pressing: Press): Pressed {
  const { ask, now } = pressing;
  const found = before ?? createRecord(owner, ask);
  const own = found.payments.find(({ attempt }) => attempt === ask.attempt);
  if (own) return goOn(found, own, pressing);
  if (found.kind === 'key') {
    const number = findReplayed(found);
    if (number !== undefined) return { record: found, decision: { do: 'replay', number } };
  }
  const record = askPrice(found, ask);
  const state = getState(record, now);
  switch (state) {
    case 'paid':
    case 'in_review':
      return { record, decision: { do: state } };
    case 'processing':
      return pressAgain(record, pressing);
    case 'unpaid':
      return beginNext(record, pressing);
  }
}

/** The claim of this attempt was written, and its process did not hear of it. Nothing was sent under it. */
function goOn(record: LedgerRecord, own: Payment, { now, startAnother }: Press): Pressed {
  if (own.charge.is !== 'sending') return { record, decision: { do: 'again' } };
  const number = record.payments.indexOf(own) + 1;
  const others = { ...record, payments: record.payments.filter((payment) => payment !== own) };
  const state = getState(others, now);
  const isAllowed = state === 'unpaid' || (state === 'processing' && startAnother);
  if (isAllowed && isSending(own, now)) return { record, decision: { do: 'send', number } };
  const { claiming: _, ...rest } = own;
  const { named } = own.charge;
  // A webhook named a transaction for it: a person has to look.
  const charge: Payment['charge'] =
    named === undefined
      ? { is: 'none', why: 'not_sent' }
      : { is: 'unknown', why: 'notified', reference: named };
  return { record: putPayment(record, number, { ...rest, charge }), decision: { do: 'again' } };
}

/** A key sends only if no payment of it has a charge, or might have one. What a person closed is never charged again. */
function findReplayed({ payments }: LedgerRecord): number | undefined {
  const own = payments.findLast(({ pressed, charge }) => pressed > 0 && charge.is !== 'none');
  const replayed = own ?? payments.find((payment) => !isNone(payment));
  return replayed && payments.indexOf(replayed) + 1;
}

/** Something is under way. The same is joined, so that no phone is asked twice for the same. */
function pressAgain(record: LedgerRecord, pressing: Press): Pressed {
  const { ask, now, startAnother } = pressing;
  const same = record.payments.find((payment) => isOpen(payment, now) && isAskedFor(payment, ask));
  const payment = same ?? findShown(record, now);
  if (!payment || (!same && startAnother)) return beginNext(record, pressing);
  const references = listStale([payment], pressing);
  if (references.length > 0) return { record, decision: { do: 'check', references } };
  const number = record.payments.indexOf(payment) + 1;
  if (!same) return { record, decision: { do: 'differ', number } };
  return { record: markPressed(record, number, payment), decision: { do: 'join', number } };
}

function markPressed(record: LedgerRecord, number: number, payment: Payment): LedgerRecord {
  if (payment.pressed === record.presses) return record;
  const presses = record.presses + 1;
  return putPayment({ ...record, presses }, number, { ...payment, pressed: presses });
}

/** Begins the next payment, once all that might be paid have been checked. */
function beginNext(record: LedgerRecord, pressing: Press): Pressed {
  const { payments } = record;
  const references = listStale(payments, pressing);
  if (references.length > 0) return { record, decision: { do: 'check', references } };
  const { ask, now, lease } = pressing;
  const last = payments.at(-1);
  const reused = last?.charge.is === 'none' ? last : undefined;
  if (!hasRoom(record)) return { record, decision: { do: 'limit' } };
  const number = reused ? payments.length : payments.length + 1;
  const pressed = record.presses + 1;
  const charge = { is: 'sending', until: now + lease, lease } as const;
  const payment = createPayment(ask, reused, { charge, pressed, createdAt: now });
  const claimed = putPayment({ ...record, presses: pressed }, number, payment);
  return { record: claimed, decision: { do: 'send', number } };
}

/** Returns the references of payments that might be paid, and that were not checked shortly before this press. */
function listStale(payments: readonly Payment[], { since, now }: Press): string[] {
  // A time later than now is that of a clock that was set back: it shows nothing.
  const isFresh = (at: number | undefined) => at !== undefined && at <= now && at > since - FRESH_FOR;
  return payments
    .filter((payment) => payment.charge.is === 'made' && (isOpen(payment, now) || isEnded(payment)))
    .slice(-MAX_CHECKED)
    .filter((payment) => !isFresh(payment.createdAt) && !isFresh(seenOf(payment)?.askedAt))
    .flatMap(({ charge }) => (charge.is === 'made' ? [charge.result.reference] : []));
}

/** Whether a payment is what a press asks for. A page whose address is not recorded is none that a customer could open. */
export const isAskedFor = (payment: Payment, ask: Ask) =>
  isSamePrice(payment, ask) &&
  payment.operation === ask.operation &&
  payment.network === ask.network &&
  payment.phone === ask.phone &&
  !isWithoutPage(payment);

/** The address of the page held a secret. */
const isWithoutPage = ({ operation, charge }: Payment) =>
  operation === 'initialize' && charge.is === 'made' && charge.result.checkout_url === undefined;

/** Creates a payment of what was asked for. Of the payment whose number it uses again, only the history stays. */
export function createPayment(
  ask: Ask,
  reused: Payment | undefined,
  facts: Pick<Payment, 'charge' | 'pressed' | 'createdAt'>,
): Payment {
  const { network, phone, requestId, ...asked } = ask;
  return {
    ...asked,
    ...(network === undefined ? {} : { network }),
    ...(phone === undefined ? {} : { phone }),
    attempts: (reused?.attempts ?? 0) + 1,
    requestIds: addRequestId(reused?.requestIds ?? [], requestId),
    resolutions: reused?.resolutions ?? [],
    told: { attention: [] },
    ...facts,
  };
}

export const addRequestId = (requestIds: readonly string[], requestId: string | undefined) =>
  requestId === undefined ? [...requestIds] : [...requestIds, requestId].slice(-MAX_REQUEST_IDS);
