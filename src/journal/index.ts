/**
 * At most one charge for each `idempotencyKey`: the journal in memory, and what a journal on a database of your own is
 * made from.
 *
 * @module payment-collection-client/journal
 */

export { protocol } from '../idempotency/send-idempotent.ts';
export { createJournal, type JournalOptions } from './create-journal.ts';
export type { Claim, ClaimResult, Journal, JournalEntry, JournalWarning, Protocol } from './journal.ts';
export { type MemoryJournalOptions, memoryJournal, memoryStore } from './memory.ts';
export type { ChargeIntent, Completion, JournalRecord, Resolution } from './record.ts';
export type { JournalStore, RecordChange, StoredRecord } from './store.ts';
