/**
 * At most one charge for each `idempotencyKey`: the journal in memory, and what a journal on a database of your own is
 * made from.
 *
 * @module payment-collection-client/journal
 */

export { createJournal, type JournalOptions } from '../journal/create-journal.ts';
export type {
  AttentionItem,
  AttentionQuery,
  Journal,
  JournalCount,
  JournalEntry,
  JournalQuery,
  JournalState,
  JournalWarning,
  PruneOptions,
} from '../journal/journal.ts';
export type { Resolution, ResolutionNote } from '../journal/resolution.ts';
export {
  type JournalStore,
  type ListedRecord,
  type ListQuery,
  MAX_DUE_IN,
  type RecordChange,
  type RecordIndex,
  type RecordKind,
  type RecordWrite,
  type StoredRecord,
  type StoreRead,
} from '../journal/store.ts';
export type { AttentionReason } from '../ledger/order.ts';
export type { RecordedError, RecordedResolution } from '../ledger/record.ts';
export type { Offer } from '../ledger/resolve.ts';
export { type MemoryJournalOptions, memoryJournal, memoryStore } from './memory.ts';
