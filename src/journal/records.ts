/**
 * The shell around the rules: read a record, apply a rule, write it if nobody wrote it meanwhile, otherwise again. Nothing else
 * reads or writes one.
 */

import { ConfigurationError, JournalError } from '../errors.ts';
import { getAttentionAt, getDueAt } from '../ledger/order.ts';
import { type LedgerRecord, parseLedgerRecord } from '../ledger/record.ts';
import { elapsedSince, readClocks, type Timestamp } from '../support/timing.ts';
import { isObject, parseJson } from '../support/untrusted.ts';
import { callStore } from './call-store.ts';
import { writeGrouped } from './group-commit.ts';
import { parseStoreKey, type RecordName, toStoreKey } from './names.ts';
import {
  type JournalStore,
  type ListedRecord,
  type ListQuery,
  MAX_DUE_IN,
  type RecordChange,
  type RecordIndex,
  type RecordKind,
  type StoredRecord,
  type StoreRead,
  toStoredTime,
} from './store.ts';

/** A record as it was last read or written, and the version that a compare-and-swap expects. `null`: there is none. */
export interface Found {
  readonly record: LedgerRecord | null;
  readonly version: string | null;
}

/** What a rule returns. If the record is the one that it was given, nothing is written. */
interface Ruled {
  readonly record: LedgerRecord | null;
  /**
   * After how many milliseconds the record is due (`null`: never), if that is not when its facts say. It is written then in any
   * case.
   */
  readonly dueIn?: number | null;
  /** As in {@link RecordChange}. @default true */
  readonly mustCommit?: boolean;
}

export interface ChangeOptions {
  /** What is known of the record: it is not read first, unless the machine has slept. */
  readonly known?: Found | undefined;
}

export interface ListedFound {
  readonly key: string;
  /** The time that it was found by. */
  readonly at: number;
  /** `undefined` if it cannot be read. */
  readonly found:
    | { readonly name: RecordName; readonly record: LedgerRecord; readonly version: string }
    | undefined;
}

/** In each round that fails another process succeeded, so rounds end soon. A store that is wrong ends here. */
export const MAX_ROUNDS = 100;

/** How long what a read returned as the time of the store is enough for a first change, in milliseconds. */
const CLOCK_FRESH_FOR = 10_000;

/** How long a machine can sleep until the time of the store is read again, in milliseconds. */
const MAX_SLEEP = 1_000;

const PAGE_SIZE = 100;

/** After how long a record that cannot be read is due again, in milliseconds. */
const UNREADABLE_PAUSE = 24 * 60 * 60 * 1000;

export class Records {
  readonly store: JournalStore;
  /** How long a claim holds after its last heartbeat, in milliseconds. */
  readonly lease: number;
  #clock: { readonly now: number; readonly at: Timestamp; readonly lead: number } | undefined;

  constructor(store: JournalStore, lease: number) {
    this.store = store;
    this.lease = lease;
  }

  /**
   * The time by the store's own clock, in whole milliseconds: what the last read returned, and the time since. It is never ahead of
   * the store, so that a lease that seems over is over.
   */
  get now(): number {
    const { now, at } = this.#clock ?? { now: 0, at: readClocks() };
    return Math.floor(now + performance.now() - at.monotonic);
  }

  /** By how much the store can be ahead of {@link now}, in milliseconds: as long as the last read took. */
  get lead(): number {
    return this.#clock?.lead ?? 0;
  }

  /** While a machine sleeps its monotonic clock stands still, so {@link now} is behind, and a lease would end too early. */
  get #hasSlept(): boolean {
    if (!this.#clock) return false;
    const { at } = this.#clock;
    return elapsedSince(at) - (performance.now() - at.monotonic) >= MAX_SLEEP;
  }

  /** What a first change can begin with, without a read: that there is no record. `undefined` if the time is not known. */
  get unread(): Found | undefined {
    const isKnown = this.#clock && elapsedSince(this.#clock.at) < CLOCK_FRESH_FOR;
    return isKnown ? { record: null, version: null } : undefined;
  }

  /**
   * Reads a record.
   *
   * @throws {JournalError} if the store fails. Its outcome is `unknown` if there is a record that cannot be read: a
   * charge might exist.
   */
  async read(name: RecordName): Promise<Found & { readonly isNew: boolean }> {
    const { record: stored, isNew = false } = await this.readStored(toStoreKey(name));
    if (!stored) return { record: null, version: null, isNew };
    const record = parseLedgerRecord(parseJson(stored.text));
    if (record) return { record, version: stored.version, isNew };
    throw new JournalError(
      'The journal has a record of this key that cannot be read: a newer version of this package might have written ' +
        'it, or it was damaged.',
      { outcome: 'unknown' },
    );
  }

  /** Applies a rule to a record, and writes what it returns, until nobody wrote it meanwhile. The rule can run several times. */
  async change<T extends Ruled>(
    name: RecordName,
    rule: (record: LedgerRecord | null, now: number) => T,
    { known }: ChangeOptions = {},
  ): Promise<T & { readonly found: Found }> {
    let found: Found = known && !this.#hasSlept ? known : await this.read(name);
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const { now } = this;
      const ruled = rule(found.record, now);
      const { record, dueIn, mustCommit = true } = ruled;
      if (record === null || (record === found.record && dueIn === undefined)) return { ...ruled, found };
      const version = crypto.randomUUID();
      const change = {
        expected: found.version,
        version,
        text: JSON.stringify(record),
        mustCommit,
        index: createIndex(record, now, dueIn),
      };
      const written = { ...ruled, found: { record, version } };
      if (await this.compareAndSwap(toStoreKey(name), change)) return written;
      found = await this.read(name);
      // A driver that reconnected might have written twice, and returned the result of the second write only.
      if (found.version === version) return written;
    }
    throw overtakenError();
  }

  /** Notes what time it was in the store at some time since `startedAt`. */
  #setClock(now: number, startedAt: Timestamp): void {
    this.#clock = { now, at: readClocks(), lead: Math.ceil(elapsedSince(startedAt)) + 1 };
  }

  /** Reads what the store has under a key, and what time it is there. */
  async readStored(key: string): Promise<StoreRead> {
    const at = readClocks();
    const read = await callStore(this.store, 'read', async () => toRead(await this.store.read(key)));
    this.#setClock(read.now, at);
    return read;
  }

  /**
   * Writes by compare-and-swap. `false`: the record does not have the version that is expected.
   *
   * @throws {JournalError} if the store fails, and does not show whether the write was done.
   */
  compareAndSwap(key: string, change: RecordChange): Promise<boolean> {
    const { store } = this;
    return callStore(store, 'written', async () => {
      try {
        return await writeGrouped(store, key, change);
      } catch (error) {
        // What a store refuses does not count, even if it can be read: it might be in a transaction that is not committed.
        if (error instanceof JournalError) throw error;
        // The write might have been done, and only its result lost.
        const read = await store.read(key).catch(() => undefined);
        const version = read && (read.record?.version ?? null);
        if (version === undefined || version === change.expected) throw error;
        return version === change.version;
      }
    });
  }

  /** Yields the records in the order of a time of their index, in pages. */
  async *list(by: ListQuery['by']): AsyncGenerator<ListedFound, void, void> {
    let after: ListQuery['after'] = null;
    for (;;) {
      const query: ListQuery = { by, after, limit: PAGE_SIZE };
      // A page does not tell the time. What is read of any record does.
      if (!this.unread) await this.readStored(toStoreKey({ kind: 'order', id: '' }));
      const page: readonly ListedRecord[] = await callStore(this.store, 'listed', async () => {
        if (typeof this.store.list !== 'function') throw missingMethodError('list');
        return [...(await this.store.list(query))];
      });
      yield* page.map(parseListed);
      const last = page.at(-1);
      if (page.length < PAGE_SIZE || !last) return;
      after = { at: last.at, key: last.key };
    }
  }

  /**
   * Returns due records of one kind, and makes each due again after `lease` milliseconds. One that cannot be read is listed for
   * a person, and is due again after a day.
   */
  async claimDue(claim: { kind: RecordKind; limit: number; lease: number }): Promise<ListedFound[]> {
    const at = readClocks();
    const { records, now } = await callStore(this.store, 'read', async () => {
      if (typeof this.store.claimDue !== 'function') throw missingMethodError('claimDue');
      return await this.store.claimDue(claim);
    });
    this.#setClock(assertTime(now), at);
    return await Promise.all(
      [...records].map(async (stored) => {
        const listed = parseListed(stored);
        if (!listed.found) await this.#listUnreadable(stored, claim.kind);
        return listed;
      }),
    );
  }

  async #listUnreadable({ key, version: expected, text, at }: ListedRecord, kind: RecordKind): Promise<void> {
    const now = toStoredTime(this.now);
    const attentionAt = toStoredTime(Math.min(at, now));
    const index = { kind, createdAt: now, attentionAt, dueAt: now + UNREADABLE_PAUSE };
    const version = crypto.randomUUID();
    await this.compareAndSwap(key, { expected, version, text, mustCommit: false, index }).catch(() => {});
  }

  /** Returns how many records are due, and in how many milliseconds the next one is. */
  countDue(kind: RecordKind): Promise<{ readonly due: number; readonly nextIn: number | null }> {
    return callStore(this.store, 'read', async () => {
      if (typeof this.store.countDue !== 'function') throw missingMethodError('countDue');
      return await this.store.countDue({ kind });
    });
  }

  count(): Promise<{ readonly records: number; readonly attention: number }> {
    return callStore(this.store, 'counted', async () => {
      if (typeof this.store.count !== 'function') throw missingMethodError('count');
      return await this.store.count();
    });
  }

  /** Deletes what still has its version, and returns how many those were. */
  async delete(unneeded: readonly { readonly key: string; readonly version: string }[]): Promise<number> {
    if (unneeded.length === 0) return 0;
    return await callStore(this.store, 'written', async () => {
      if (typeof this.store.delete !== 'function') throw missingMethodError('delete');
      return await this.store.delete(unneeded);
    });
  }
}

export const overtakenError = () =>
  new JournalError('Other processes changed the record at each attempt to write it. Try again.', {
    retryable: true,
  });

/** @throws {ConfigurationError} always: the merchant's own store has not all methods. */
export function missingMethodError(method: keyof JournalStore): ConfigurationError {
  return new ConfigurationError(
    `The store of this journal has no ${method}, so it cannot do this. Charges are protected all the same. See JournalStore.`,
  );
}

function createIndex(record: LedgerRecord, now: number, dueIn: number | null | undefined): RecordIndex {
  const { kind, payments } = record;
  const attentionAt = getAttentionAt(record, now);
  const dueAt = dueIn === undefined ? getDueAt(record, now) : dueIn === null ? null : now + dueIn;
  return {
    kind,
    createdAt: toStoredTime(Math.max(0, ...payments.map(({ createdAt }) => createdAt))),
    attentionAt: attentionAt === null ? null : toStoredTime(attentionAt),
    dueAt: dueAt === null ? null : toStoredTime(Math.min(dueAt, now + MAX_DUE_IN)),
  };
}

/** Without a version, a write that expects no record could replace the record. */
const isStored = (value: unknown): value is StoredRecord =>
  isObject(value) &&
  'version' in value &&
  typeof value.version === 'string' &&
  value.version !== '' &&
  'text' in value &&
  typeof value.text === 'string';

/** @throws {JournalError} if a store of the merchant's own returns anything else. What it holds might be a charge. */
function toRead(read: unknown): StoreRead {
  const { record, now, isNew }: Record<string, unknown> = { ...Object(read) };
  if (record !== null && !isStored(record))
    throw new JournalError('The store of this journal returned what is no record.', { outcome: 'unknown' });
  return { record, now: assertTime(now), ...(isNew === true ? { isNew } : {}) };
}

function assertTime(now: unknown): number {
  if (typeof now === 'number' && Number.isFinite(now)) return now;
  throw new JournalError('The store of this journal returned no time in milliseconds.');
}

function parseListed(stored: ListedRecord): ListedFound {
  const { key, at, version, text } = stored;
  const name = parseStoreKey(String(key));
  const record = isStored(stored) ? parseLedgerRecord(parseJson(text)) : undefined;
  return { key, at, found: name && record && { name, record, version } };
}
