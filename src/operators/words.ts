import type { AttentionItem, JournalState } from '../journal/journal.ts';
import type { Offer } from '../ledger/resolve.ts';

/** What each state means, in a few words. */
export const STATES: Readonly<Record<JournalState, string>> = {
  unknown: 'unresolved: a charge might exist',
  begun: 'in progress: a process is charging now',
  completed: 'its transaction is known',
  not_sent: 'nothing was sent: no charge exists',
  rejected: 'the service refused it: no charge exists',
  not_charged: 'a person resolved it: no charge exists',
  closed: 'a person dealt with the payment: never charged again',
};

/** What each reason to look into a payment means. */
export const REASONS: Readonly<Record<AttentionItem['reason'], string>> = {
  unresolved: 'a charge might exist',
  shared_reference: 'its transaction belongs to another payment',
  paid_twice: 'another payment pays the order already',
  price_changed: 'it was paid, and the order has another price since',
  mismatch: 'its transaction has another amount or currency',
  gone: 'the service does not know its transaction any more',
  unreadable: 'the service has refused each check for a day',
  overdue: 'it is under way for more than 7 days',
};

/** What a person does at the service about each reason. */
export const ADVICE: Readonly<Record<AttentionItem['reason'], string>> = {
  unresolved: 'Find the charge in the records of the service, by its request id, amount and time.',
  shared_reference:
    'Find the charge in the records of the service, by its request id, amount and time. The transaction that it named belongs to another payment.',
  paid_twice: 'Another payment pays the order. Pay this one back at the service.',
  price_changed:
    'The customer paid an earlier price. Decide whether you take it, or pay it back at the service.',
  mismatch:
    'Compare its amount at the service. Decide whether you take it once it is paid, or pay it back there.',
  gone: 'Ask the service what became of it.',
  unreadable: 'Read which error the checks get, and ask the service what became of it.',
  overdue: 'Ask the service what became of it. Is a sweep running?',
};

/** What a person can decide, and what follows. */
export const OFFERS: Readonly<Record<Offer, { readonly title: string; readonly follows: string }>> = {
  reference: {
    title: 'The charge exists',
    follows:
      'The service is asked first: it must have the transaction. The payment is followed from then on, and counts as paid once the service says success.',
  },
  not_charged: {
    title: 'No charge exists',
    follows:
      'The customer can then pay again. If a charge exists after all, the customer pays twice: search the records of the service twice, an hour apart.',
  },
  accepted: {
    title: 'Take the payment as it is',
    follows:
      'It counts as paid, with the amount that the customer paid. The shop hears of it with the next sweep.',
  },
  closed: {
    title: 'Close the payment',
    follows:
      'It is dealt with outside, for example paid back. It is never charged again, not followed and no longer listed.',
  },
};
