/** Finds a payment by the name that people know it by: an idempotency key, `17/1`, or an order. */

import { JournalError, quoteKey } from '../errors.ts';
import { redactReference } from '../support/redact.ts';
import { type RecordName, toStoreKey } from './names.ts';
import type { Found, Records } from './records.ts';
import { NoJournalError } from './store.ts';

/** What has a name. `number` is that of a payment; `undefined`: it is the order as a whole. */
export interface NamedPayment {
  readonly name: RecordName;
  readonly number: number | undefined;
  readonly found: Found;
}

/**
 * Finds what has a name; `undefined`: nothing.
 *
 * @throws {JournalError} if the name is no text, or fits two.
 */
export async function findPayment(records: Records, text: string): Promise<NamedPayment | undefined> {
  if (typeof text !== 'string')
    throw new JournalError('A payment is named by text: its idempotency key, such as "order-17/1".');
  const candidates = listCandidates(text);
  const keys = [...new Map(candidates.map(({ name }) => [toStoreKey(name), name])).values()];
  const reads = await Promise.all(keys.map(async (name) => ({ name, found: await records.read(name) })));
  if (reads.some(({ found }) => found.isNew))
    throw new NoJournalError('The first charge makes it. Is this the database of the shop?');
  const named = candidates.flatMap(({ name, number }) => {
    const found = reads.find((read) => toStoreKey(read.name) === toStoreKey(name))?.found;
    const has = found?.record && (number === undefined || found.record.payments[number - 1]);
    return found && has ? [{ name, number, found }] : [];
  });
  const isPayment = (fullName: string) =>
    named.some((other) => other.number !== undefined && getFullName(other) === fullName);
  // The orders 17 and 17/1 can both exist: `order 17/1` is then a payment of the first.
  const meant = isPayment(text)
    ? named.filter((one) => one.number !== undefined || getFullName(one) !== text)
    : named;
  const [first, second] = meant;
  if (!second) return first;
  const names = meant.map((one) => {
    const fullName = getFullName(one);
    const isTaken = one.number === undefined && isPayment(fullName);
    return JSON.stringify(redactReference(isTaken ? `${fullName}/1` : fullName));
  });
  throw new JournalError(
    `${quoteKey(redactReference(text))} fits two. Name it ${names.join(' or ')}. Nothing was changed.`,
  );
}

/** Returns the name that says whether it is of an order or of a key. */
function getFullName({ name, number }: Omit<NamedPayment, 'found'>): string {
  return `${toStoreKey(name)}${number === undefined || name.kind === 'key' ? '' : `/${number}`}`;
}

/** `key 17/1` and `order 17/1` say which of the two is meant, if a name fits both. */
function listCandidates(text: string): { name: RecordName; number: number | undefined }[] {
  const [, kind, rest] = /^(order|key) (.+)$/su.exec(text) ?? [];
  return [
    ...listNamed('order', text),
    ...listNamed('key', text),
    ...(rest !== undefined && (kind === 'order' || kind === 'key') ? listNamed(kind, rest) : []),
  ];
}

function listNamed(
  kind: RecordName['kind'],
  text: string,
): { name: RecordName; number: number | undefined }[] {
  const [, id, digits] = /^(.+)\/([1-9]\d{0,5})$/su.exec(text) ?? [];
  const whole = { name: { kind, id: text }, number: kind === 'order' ? undefined : 1 };
  const number = Number(digits);
  // The first payment of a key has the name of the key.
  const isPart = id !== undefined && (kind === 'order' || number > 1);
  return isPart ? [whole, { name: { kind, id }, number }] : [whole];
}
