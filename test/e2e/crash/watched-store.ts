import { getRecords } from '../../../src/journal/core.ts';
import { createJournal } from '../../../src/journal/create-journal.ts';
import type { Journal, JournalStore, RecordWrite, StoredRecord } from '../../../src/journal/index.ts';
import { listOwed } from '../../../src/ledger/order.ts';
import { type LedgerRecord, type Payment, parseLedgerRecord } from '../../../src/ledger/record.ts';

/** What one write of a store records, in about the order in which a payment needs them. */
export const steps = [
  /** An attempt begins. */
  'claim',
  /** The id of another request of the attempt. */
  'retry',
  'heartbeat',
  /** The claim of a reference. */
  'reference',
  /** What came of the request. */
  'outcome',
  /** A reference that a person or a late process found, before it is claimed. And after that. */
  'name',
  'confirm',
  /** Another decision of a person. */
  'resolve',
  /** What a check found. And if a handler is to be called now. */
  'check',
  'final',
  /** A webhook came. */
  'notify',
  /** `onFinal`, `onPaid` or `onUnpaid` was called. */
  'end',
  /** `onAttention` was called. */
  'attention',
  /** A handler failed. */
  'failure',
  /** Only when the record is due. */
  'due',
] as const;

export type Step = (typeof steps)[number];
export type WritePoint = `${'before' | 'during' | 'after'} ${Step}`;

/** The points around the writes of a step. */
export const pointsAround = <const S extends Step>(step: S) =>
  [`before ${step}`, `during ${step}`, `after ${step}`] as const;

/** A write of a record or of a claim, by its key in the store. */
interface WatchedWrite extends RecordWrite {
  readonly step: Step;
}

interface Watch {
  readonly killSwitch: {
    reach(point: WritePoint): void;
    during<T>(point: WritePoint, work: () => Promise<T>): Promise<T>;
  };
  onWriting?(write: WatchedWrite): void;
  /** Called with whether the record had the expected version, before the point after the write. */
  onWritten?(write: WatchedWrite, isWritten: boolean): void | Promise<void>;
}

/** Returns a journal on the same records, with another store. */
export function replaceStore(journal: Journal, replace: (store: JournalStore) => JournalStore): Journal {
  const { store, lease } = getRecords(journal);
  return createJournal(replace(store), { lease });
}

/** Returns the store with the kill points around each write. */
export function watchStore(store: JournalStore, { killSwitch, onWriting, onWritten }: Watch): JournalStore {
  /** As this process last read or wrote them. */
  const known = new Map<string, StoredRecord>();
  const watch = ({ key, change }: RecordWrite): WatchedWrite => {
    if (key.startsWith('reference ')) return { key, change, step: 'reference' };
    const stored = known.get(key);
    const before = stored?.version === change.expected ? parseRecord(stored.text) : null;
    return { key, change, step: nameStep(before, parseRecord(change.text)) };
  };
  const writeAround = async <T>(
    writes: readonly RecordWrite[],
    write: () => Promise<T>,
    isWritten: (result: T, index: number) => boolean,
  ): Promise<T> => {
    const watched = writes.map(watch);
    for (const item of watched) {
      onWriting?.(item);
      killSwitch.reach(`before ${item.step}`);
    }
    const around = watched.reduce(
      (work, { step }) =>
        () =>
          killSwitch.during(`during ${step}`, work),
      write,
    );
    const result = await around();
    for (const [index, item] of watched.entries()) {
      const { key, change, step } = item;
      if (isWritten(result, index)) known.set(key, change);
      await onWritten?.(item, isWritten(result, index));
      killSwitch.reach(`after ${step}`);
    }
    return result;
  };
  const { writeAll, claimDue, list } = store;
  return {
    ...store,
    async read(key) {
      const read = await store.read(key);
      if (read.record) known.set(key, read.record);
      return read;
    },
    write: (key, change) => writeAround([{ key, change }], () => store.write(key, change), Boolean),
    ...(writeAll && {
      writeAll: (writes) =>
        writeAround(
          writes,
          () => writeAll(writes),
          (results, index) => results[index] === true,
        ),
    }),
    ...(claimDue && {
      async claimDue(claim) {
        const claimed = await claimDue(claim);
        for (const record of claimed.records) known.set(record.key, record);
        return claimed;
      },
    }),
    ...(list && {
      async list(query) {
        const records = await list(query);
        for (const record of records) known.set(record.key, record);
        return records;
      },
    }),
  };
}

function parseRecord(text: string): LedgerRecord {
  const record = parseLedgerRecord(JSON.parse(text));
  if (record) return record;
  throw new Error(`A store has what is no record: ${text}`);
}

/** Names what a write records. */
function nameStep(before: LedgerRecord | null, after: LedgerRecord): Step {
  const named = after.payments.map((payment, index) => namePaymentStep(before?.payments[index], payment));
  const step = steps.find((item) => named.includes(item));
  // The clocks of all processes and databases of a run are the machine's.
  if (step === 'check' && isCallDue(after, Date.now())) return 'final';
  if (step) return step;
  return (after.telling?.failures ?? 0) > (before?.telling?.failures ?? 0) ? 'failure' : 'due';
}

const isCallDue = (record: LedgerRecord, now: number) =>
  listOwed(record, now).length > 0 && (record.telling?.retryAt ?? now) <= now;

function namePaymentStep(before: Payment | undefined, after: Payment): Step | undefined {
  if (before?.attempt !== after.attempt) return after.charge.is === 'sending' ? 'claim' : 'name';
  if (!before.claiming && after.claiming) return 'name';
  if (before.claiming && !after.claiming) return 'confirm';
  if (before.resolutions.length < after.resolutions.length) return 'resolve';
  return nameSendingStep(before, after) ?? nameFollowUpStep(before, after);
}

function nameSendingStep(before: Payment, after: Payment): Step | undefined {
  if (before.charge.is !== 'sending') return undefined;
  if (after.charge.is !== 'sending') return 'outcome';
  if (after.requestIds.length > before.requestIds.length) return 'retry';
  return after.charge.until > before.charge.until ? 'heartbeat' : undefined;
}

function nameFollowUpStep(before: Payment, after: Payment): Step | undefined {
  const { told, pace, seen } = after;
  if (before.told.attention.length < told.attention.length) return 'attention';
  if (!isSame(before.told, told)) return 'end';
  if (isSame(before.pace, pace) && isSame(before.seen, seen)) return undefined;
  const isNotified = pace?.notifiedAt !== undefined && pace.notifiedAt !== before.pace?.notifiedAt;
  return isNotified && isSame(before.seen, seen) ? 'notify' : 'check';
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
