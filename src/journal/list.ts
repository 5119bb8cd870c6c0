import * as z from 'zod/mini';
import { ConfigurationError, JournalError } from '../errors.ts';
import { type OptionsShape, optionalNumber, optionalValue, parseOptions } from '../parse-options.ts';
import { redactReference } from '../redact.ts';
import { callStore } from './call-store.ts';
import { parseStored, type Records, type VersionedRecord } from './compare-and-swap.ts';
import type { JournalEntry, JournalQuery, JournalState } from './journal.ts';
import { referenceOf } from './record.ts';
import type { JournalStore, ListedRecord, ListQuery } from './store.ts';

const STATES = ['begun', 'completed', 'not_sent', 'rejected', 'unknown', 'not_charged', 'closed'] as const;

const querySchema = /* @__PURE__ */ (() =>
  z.strictObject({
    state: optionalValue<JournalState>(
      (value) => STATES.some((state) => state === value),
      `state must be one of ${STATES.join(', ')}.`,
    ),
    reference: optionalValue<string>((value) => typeof value === 'string', 'reference must be text.'),
    limit: optionalNumber(
      (limit) => limit === Number.POSITIVE_INFINITY || (Number.isInteger(limit) && limit >= 0),
      'limit must be a whole number.',
    ),
  } satisfies OptionsShape<JournalQuery>))();

/** How many records are read at once. */
const PAGE_SIZE = 100;

/** Yields the entries that a query asks for, oldest first. */
export async function* listEntries(
  records: Records,
  query: JournalQuery,
): AsyncGenerator<JournalEntry, void, void> {
  const {
    state,
    reference,
    limit = Number.POSITIVE_INFINITY,
  } = parseOptions(querySchema, query, {
    notAnObject: "list takes an object, such as { state: 'unknown' }.",
  });
  if (limit === 0) return;
  const unreadable: string[] = [];
  let yielded = 0;
  for await (const stored of listStored(records.store, state, reference)) {
    const entry = parseEntry(records, stored);
    if (!entry) unreadable.push(stored.key);
    else if (matchesQuery(entry, state, reference)) {
      yield entry;
      if (++yielded >= limit) return;
    }
  }
  if (unreadable.length > 0) throw unreadableError(unreadable);
}

function parseEntry(records: Records, stored: ListedRecord): JournalEntry | undefined {
  const found = parseStored(stored);
  return found && toEntry(stored.key, found, records.isInProgress(found));
}

/** An index can be behind its record, and a claim can expire. */
function matchesQuery(entry: JournalEntry, state = entry.state, reference = entry.reference): boolean {
  return entry.state === state && entry.reference === reference;
}

function listStored(
  store: JournalStore,
  state: JournalState | undefined,
  reference: string | undefined,
): AsyncIterable<ListedRecord> {
  if (reference !== undefined) return readPages(store, 'reference', reference.toLowerCase());
  // A claim whose lease has expired is stored as `begun`, and reads as `unknown`.
  const states =
    state === undefined ? STATES : state === 'unknown' ? (['begun', 'unknown'] as const) : [state];
  return mergeByAge(states.map((value) => readPages(store, 'state', value)));
}

/** Yields the records with one value of a field, oldest first. */
export async function* readPages(
  store: JournalStore,
  by: ListQuery['by'],
  value: string,
): AsyncGenerator<ListedRecord, void, void> {
  let after: ListQuery['after'] = null;
  for (;;) {
    const page: readonly ListedRecord[] = await listPage(store, { by, value, after, limit: PAGE_SIZE });
    yield* page;
    const last = page.at(-1);
    if (page.length < PAGE_SIZE || !last) return;
    after = { createdAt: last.createdAt, key: last.key };
  }
}

/** Reads one page. @throws {ConfigurationError} if the store cannot list. */
export async function listPage(store: JournalStore, query: ListQuery): Promise<readonly ListedRecord[]> {
  return await callStore(store, 'listed', async () => {
    if (typeof store.list !== 'function') throw missingMethodError('list');
    return [...(await store.list(query))];
  });
}

/** @throws {ConfigurationError} always: the merchant's own store has not all methods. */
export function missingMethodError(method: keyof JournalStore): ConfigurationError {
  return new ConfigurationError(
    `The store of this journal has no ${method}, so it cannot do this. Charges are protected all the same. See JournalStore.`,
  );
}

/** Merges lists that are ordered by age. */
async function* mergeByAge(
  lists: AsyncGenerator<ListedRecord, void, void>[],
): AsyncGenerator<ListedRecord, void, void> {
  try {
    // One after the other: a store might have one connection.
    const heads: { list: (typeof lists)[number]; next: IteratorResult<ListedRecord, void> }[] = [];
    for (const list of lists) heads.push({ list, next: await list.next() });
    for (;;) {
      let oldest: { head: (typeof heads)[number]; record: ListedRecord } | undefined;
      for (const head of heads) {
        if (head.next.done) continue;
        const record = head.next.value;
        if (!oldest || record.createdAt < oldest.record.createdAt) oldest = { head, record };
      }
      if (!oldest) return;
      yield oldest.record;
      oldest.head.next = await oldest.head.list.next();
    }
  } finally {
    await Promise.all(lists.map((list) => list.return()));
  }
}

function unreadableError(keys: readonly string[]): JournalError {
  const named = keys.slice(0, 3).map((key) => JSON.stringify(redactReference(key)));
  const more = keys.length > named.length ? ` and ${keys.length - named.length} more` : '';
  return new JournalError(
    `The records of ${named.join(', ')}${more} cannot be read: a newer version of this package might have written them.`,
    { outcome: 'unknown' },
  );
}

/** Returns how many keys are in each state. A claim whose lease has expired counts as `unknown`. */
export async function countEntries(records: Records): Promise<Record<JournalState, number>> {
  const { store } = records;
  const counts = { begun: 0, completed: 0, not_sent: 0, rejected: 0, unknown: 0, not_charged: 0, closed: 0 };
  const stored = await callStore(store, 'counted', async () => store.count?.());
  for (const state of STATES) counts[state] = stored?.[state] ?? 0;
  // A newer version can have recorded a state that this one does not know. It might be a charge.
  for (const [state, count] of Object.entries(stored ?? {}))
    if (!Object.hasOwn(counts, state)) counts.unknown += count;
  const states = stored ? (['begun'] as const) : STATES;
  for (const state of states) counts[state] = 0;
  for await (const record of mergeByAge(states.map((value) => readPages(store, 'state', value)))) {
    // What cannot be read might be a charge.
    counts[parseEntry(records, record)?.state ?? 'unknown'] += 1;
  }
  return counts;
}

/** Returns what is shown of a record. After the lease, its process might have died after it had sent the request. */
export function toEntry(
  key: string,
  { record }: Pick<VersionedRecord, 'record'>,
  inProgress: boolean,
): JournalEntry {
  const { state, operation, amount, currency, network, createdAt, attempts, requestIds } = record;
  return {
    key,
    state: state === 'begun' && !inProgress ? 'unknown' : state,
    operation,
    amount,
    currency,
    network,
    createdAt,
    updatedAt: record.updatedAt ?? createdAt,
    attempts,
    requestIds,
    reference: referenceOf(record),
    error: 'error' in record ? record.error : undefined,
    resolutions: record.resolutions,
    inProgress,
    service: record.service,
    followUp: record.followUp,
  };
}
