import type { AttentionItem, JournalEntry, JournalState } from '../journal/journal.ts';

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

export const ADVICE: Readonly<Record<AttentionItem['reason'], string>> = {
  unresolved: 'Find out at the service whether this payment exists there, and which reference it has.',
  shared_reference:
    'Find out at the service whether this payment has a transaction of its own. The one that was named belongs to another payment.',
  paid_twice: 'Pay this payment back at the service: the order is paid without it.',
  price_changed: 'Decide whether you take what was paid. Otherwise pay it back at the service.',
  mismatch: 'Compare the amounts at the service. Once it is paid, take it as it is or pay it back there.',
  gone: 'Ask the service what became of its transaction, and whether money moved.',
  unreadable: 'Read which error the checks get, and ask the service what became of its transaction.',
  overdue:
    'Check that a sweep is running. If one is, ask the service what became of its transaction, and whether money moved.',
};

/** When each resolution is right, and what follows from it. */
export const OFFERS: Readonly<Record<JournalEntry['offers'][number], string>> = {
  reference: 'If the payment exists at the service, record its reference. It is then followed.',
  not_charged: 'If it does not exist at the service, say so. The customer can then be charged again.',
  accepted: 'If you take it as it is, accept it. It then counts as paid.',
  closed:
    'Once it is dealt with outside, for example paid back, close it. It is never charged again, and not followed.',
};

/** Returns why a payment needs a person. One that was paid after it was closed has the reason of any other that does not pay its order. */
export const explainAttention = (reason: AttentionItem['reason'], { state }: Pick<JournalEntry, 'state'>) =>
  state === 'closed' ? 'it was closed, and was paid after that' : REASONS[reason];
