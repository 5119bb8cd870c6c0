/** Why a resolution is refused: each says what happened, and what fits. */

import { JournalError, quoteKey } from '../errors.ts';
import { seenOf } from '../ledger/payment.ts';
import type { LedgerRecord, Price } from '../ledger/record.ts';
import { getSight, listOffers, type Offer } from '../ledger/resolve.ts';
import { redactReference } from '../support/redact.ts';
import { isRecord, parseJson } from '../support/untrusted.ts';
import type { RecordName } from './names.ts';

/** The person decided on what was recorded before. */
export function changedError(
  sight: string,
  record: LedgerRecord | null,
  number: number,
  now: number,
): JournalError {
  const what = describeChange(sight, record, number, now);
  return new JournalError(
    `This payment was changed meanwhile by ${what}. This decision was not recorded. Read its entry again.`,
  );
}

/** Says who changed what since a person saw a payment. */
function describeChange(sight: string, record: LedgerRecord | null, number: number, now: number): string {
  const payment = record?.payments[number - 1];
  const { by, resolution } = payment?.resolutions.at(-1) ?? {};
  const { status, other } = (payment && seenOf(payment)) ?? {};
  const decision = typeof resolution === 'object' ? resolution.reference : resolution;
  const toText = (price: Price | undefined) =>
    price ? `${price.amount} ${price.currency}` : 'its own amount';
  // By the names that they have in what the person saw.
  const changes = Object.entries({
    attempt: 'a press: another attempt began',
    resolutions: `${by?.slice(0, 60)}: ${decision}`,
    claiming: 'another person, who names its transaction',
    price: `a press: the order was asked for at ${toText(record?.price)}`,
    other: `a check: it found ${toText(other)}`,
    status: `a check: it found ${status}`,
    winner: `payment ${record?.winner}: it pays the order`,
    reference: 'a webhook or a late response: it named the transaction',
  });
  // A revision comes from the caller, so it can be any text.
  const [before, after] = [sight, record && getSight(record, number, now)].map((text) => {
    const facts = parseJson(text);
    return isRecord(facts) ? facts : undefined;
  });
  const isChanged = (fact: string) => JSON.stringify(before?.[fact]) !== JSON.stringify(after?.[fact]);
  const change = before && after && changes.find(([fact]) => isChanged(fact));
  return change?.[1] ?? 'a check, a press or another person';
}

export function unfitError(
  record: LedgerRecord | null,
  number: number,
  decision: Offer,
  now: number,
): JournalError {
  if (record?.winner === number)
    return new JournalError('This payment pays its order: that stands. Nothing was changed.');
  const offers = record ? listOffers(record, number, now) : [];
  if (offers.includes(decision))
    return new JournalError(
      'The service has the transaction that was named for this payment: a charge exists. Nothing was changed. Resolve it with ' +
        'that reference.',
    );
  const payment = record?.payments[number - 1];
  const isWaiting = decision === 'accepted' && payment !== undefined && seenOf(payment)?.other !== undefined;
  const advice = [
    offers.length > 0
      ? `It can be ${offers.map(toWord).join(' or ')}.`
      : 'There is nothing to resolve about it.',
    ...(isWaiting ? ['It can be accepted once the service says success.'] : []),
  ];
  const word = toWord(decision);
  return new JournalError(`"${word}" does not fit this payment. Nothing was changed. ${advice.join(' ')}`);
}

const toWord = (offer: Offer) => (offer === 'reference' ? '{ reference }' : offer);

export function ownPaymentError(reference: string, key: string): JournalError {
  return new JournalError(
    `${redactReference(reference)} is the transaction of ${quoteKey(redactReference(key))}, or might be. Nothing was changed. ` +
      'Resolve that payment.',
  );
}

export function otherOwnerError(reference: string, owner: RecordName | undefined): JournalError {
  const whose = owner ? `the ${owner.kind} ${quoteKey(redactReference(owner.id))}` : 'another payment';
  return new JournalError(
    `${redactReference(reference)} belongs to ${whose}: one transaction cannot pay for two. Nothing was changed.`,
  );
}
