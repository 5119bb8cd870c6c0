import type { AttentionItem, JournalState } from '../journal/journal.ts';

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
