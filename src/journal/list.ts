import * as z from 'zod/mini';
import { JournalError } from '../errors.ts';
import { listAttention as concludeAttention } from '../ledger/order.ts';
import { isFollowed, isSending, isUnresolved, referenceOf, seenOf } from '../ledger/payment.ts';
import type { LedgerRecord, Payment } from '../ledger/record.ts';
import { getSight, listOffers } from '../ledger/resolve.ts';
import { type OptionsShape, optionalNumber, optionalValue, parseOptions } from '../parse-options.ts';
import { redactReference } from '../support/redact.ts';
import { stringField } from '../support/untrusted.ts';
import { findPayment } from './find-payment.ts';
import type {
  AttentionItem,
  AttentionQuery,
  JournalCount,
  JournalEntry,
  JournalQuery,
  JournalState,
} from './journal.ts';
import { namePayment, parseStoreKey, type RecordName } from './names.ts';
import type { ListedFound, Records } from './records.ts';
import { findOwner } from './references.ts';

export async function readEntry(records: Records, key: string): Promise<JournalEntry | null> {
  const named = await findPayment(records, key);
  const { record } = named?.found ?? {};
  if (!named || !record || named.number === undefined) return null;
  return toEntry(named.name, record, named.number, records.now);
}

const limitOption = /* @__PURE__ */ optionalNumber(
  (value) => value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && value >= 0),
  'limit must be a whole number.',
);

const KNOWN_STATES: Readonly<Record<JournalState, true>> = {
  begun: true,
  completed: true,
  not_sent: true,
  rejected: true,
  unknown: true,
  not_charged: true,
  closed: true,
};

const querySchema = /* @__PURE__ */ (() =>
  z.strictObject({
    state: optionalValue<JournalState>(
      (value) => typeof value === 'string' && Object.hasOwn(KNOWN_STATES, value),
      `state must be one of ${Object.keys(KNOWN_STATES).join(', ')}.`,
    ),
    reference: optionalValue<string>((value) => typeof value === 'string', 'reference must be text.'),
    limit: limitOption,
  } satisfies OptionsShape<JournalQuery>))();

/** Yields the entries that a query asks for, oldest first. */
export async function* listEntries(
  records: Records,
  query: JournalQuery,
): AsyncGenerator<JournalEntry, void, void> {
  const parsed = parseOptions(querySchema, query, {
    notAnObject: "list takes an object, such as { state: 'unknown' }.",
  });
  const { state, reference, limit: most = Number.POSITIVE_INFINITY } = parsed;
  const isAsked = (entry: JournalEntry) =>
    (state ?? entry.state) === entry.state &&
    (reference === undefined || entry.reference?.toLowerCase() === reference.toLowerCase());
  const toEntries = (name: RecordName, record: LedgerRecord) =>
    record.payments.map((_, index) => toEntry(name, record, index + 1, records.now)).filter(isAsked);
  const listed =
    reference === undefined
      ? records.list(state === 'unknown' ? 'attentionAt' : 'createdAt')
      : listOwner(records, reference);
  yield* yieldAll(listed, most, toEntries);
}

async function* listOwner(records: Records, reference: string): AsyncGenerator<ListedFound, void, void> {
  const name = await findOwner(records, reference);
  const { record, version } = name ? await records.read(name) : { record: null, version: null };
  if (!name || !record || version === null) return;
  yield { key: '', at: 0, found: { name, record, version } };
}

const attentionQuerySchema = /* @__PURE__ */ (() =>
  z.strictObject({ limit: limitOption } satisfies OptionsShape<AttentionQuery>))();

/** Yields what is made of each record that needs a person, oldest first. `method` is the one that was called. */
export async function* listNeeding<T>(
  records: Records,
  query: AttentionQuery,
  method: string,
  toItems: (name: RecordName, record: LedgerRecord) => T[],
): AsyncGenerator<T, void, void> {
  const { limit: most = Number.POSITIVE_INFINITY } = parseOptions(attentionQuerySchema, query, {
    notAnObject: `${method} takes an object, such as { limit: 100 }.`,
  });
  yield* yieldAll(records.list('attentionAt'), most, toItems);
}

/** Yields what a person has to decide, oldest first. */
export const listAttentionItems = (
  records: Records,
  query: AttentionQuery,
): AsyncGenerator<AttentionItem, void, void> =>
  listNeeding(records, query, 'listAttention', (name, record) =>
    concludeAttention(record, records.now).map(({ number, reason, since }) => {
      const { key, order, amount, currency, network, reference, requestIds } = toEntry(
        name,
        record,
        number,
        records.now,
      );
      return { key, order, reason, since, amount, currency, network, reference, requestIds };
    }),
  );

/** Yields what is made of each record. @throws {JournalError} at the end, if some cannot be read */
async function* yieldAll<T>(
  listed: AsyncIterable<ListedFound>,
  most: number,
  toItems: (name: RecordName, record: LedgerRecord) => T[],
): AsyncGenerator<T, void, void> {
  const unreadable: string[] = [];
  let left = most;
  if (left === 0) return;
  for await (const { key, found } of listed) {
    if (!found) unreadable.push(parseStoreKey(key)?.id ?? key);
    for (const item of found ? toItems(found.name, found.record) : []) {
      yield item;
      if (--left === 0) return;
    }
  }
  if (unreadable.length > 0) throw unreadableError(unreadable);
}

function unreadableError(keys: readonly string[]): JournalError {
  const named = keys.slice(0, 3).map((key) => JSON.stringify(redactReference(key)));
  const more = keys.length > named.length ? ` and ${keys.length - named.length} more` : '';
  return new JournalError(
    `The records of ${named.join(', ')}${more} cannot be read: a newer version of this package might have written them.`,
    { outcome: 'unknown' },
  );
}

/** Returns how many records there are, and how many need a person. */
export async function countRecords(records: Records): Promise<JournalCount> {
  const { records: all, attention } = await records.count();
  return { records: all, attention };
}

export function toEntry(name: RecordName, record: LedgerRecord, number: number, now: number): JournalEntry {
  const payment = record.payments[number - 1];
  if (!payment) throw new JournalError(`There is no payment ${number}.`);
  const { operation, amount, currency, network, createdAt, attempts, requestIds, charge, resolutions, pace } =
    payment;
  const { askedAt, status, other } = seenOf(payment) ?? {};
  const recordedStatus = charge.is === 'made' ? stringField(charge.result, 'status') : undefined;
  return {
    key: namePayment(name, number),
    order: name.kind === 'order' ? name.id : undefined,
    state: getEntryState(payment, now),
    operation,
    amount,
    currency,
    other,
    price: record.price,
    network,
    createdAt,
    updatedAt: Math.max(createdAt, askedAt ?? 0, resolutions.at(-1)?.at ?? 0),
    attempts,
    requestIds,
    reference: referenceOf(payment) ?? (charge.is === 'closed' ? charge.named : undefined),
    status: status ?? recordedStatus,
    checkedAt: askedAt,
    nextCheckAt: isFollowed(payment, now) ? pace?.nextAt : undefined,
    error: 'error' in charge ? charge.error : undefined,
    attention: concludeAttention(record, now).find((item) => item.number === number)?.reason,
    offers: listOffers(record, number, now),
    revision: getSight(record, number, now),
    resolutions: resolutions.map(({ at, by, reason, resolution }) => ({ at, by, reason, resolution })),
    inProgress: isSending(payment, now),
    service: record.service,
  };
}

function getEntryState(payment: Payment, now: number): JournalState {
  const { charge } = payment;
  if (isUnresolved(payment, now)) return 'unknown';
  switch (charge.is) {
    case 'sending':
      return 'begun';
    case 'made':
      return 'completed';
    case 'none':
      return charge.why === 'recorded_elsewhere' ? 'not_charged' : charge.why;
    default:
      return charge.is;
  }
}
