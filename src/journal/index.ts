/**
 * At most one charge for each `idempotencyKey`: the journal in memory, and what a journal on a database of your own is
 * made from.
 *
 * @module payment-collection-client/journal
 */

export {
  type Claim,
  type ClaimResult as Standing,
  createJournal,
  type Journal,
  type JournalEntry,
  type JournalOptions,
  type JournalWarning,
} from './journal.ts';
export { type MemoryJournalOptions, memoryJournal, memoryStore } from './memory.ts';
export type { ChargeIntent as Attempt, Completion as Ending, JournalRecord, Resolution } from './record.ts';
export type { JournalStore, RecordChange, StoredRecord } from './store.ts';
