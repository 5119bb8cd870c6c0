import type {
  JournalStore,
  ListedRecord,
  RecordIndex,
  RecordKind,
  RecordWrite,
} from '../../journal/store.ts';
import { sleep } from '../../support/timing.ts';

/** A handle on the storage, alone or with a function that closes it. */
export type OpenedStore = JournalStore | { readonly store: JournalStore; close?(): unknown };

/**
 * Opens a new handle on a storage, as another process would. Each case calls it several times, with one `storage`. No two
 * cases have the same: use it as the name of the table, of the file or of the prefix.
 */
export type OpenStore = (storage: string) => OpenedStore | Promise<OpenedStore>;

/** Cases by name, each of which still needs a storage. */
export type ConformanceCases = Readonly<Record<string, (context: ConformanceContext) => Promise<void>>>;

/** A part of {@link JournalStore} that a store can be without. */
export type OptionalPart = 'list' | 'followUps' | 'prune';

export const optionalMethods = {
  list: ['list', 'count'],
  followUps: ['claimDue', 'countDue'],
  prune: ['delete'],
} as const satisfies Record<OptionalPart, readonly (keyof JournalStore)[]>;

type Part<Name extends OptionalPart> = Required<Pick<JournalStore, (typeof optionalMethods)[Name][number]>>;

/** Later than the end of each case, in milliseconds. */
export const LATER = 3_600_000;
/** Short enough to wait for, in milliseconds. */
export const SOON = 300;
/** How far apart two readings of a store's clock can be that are made in one step, in milliseconds. A clock can be adjusted, too. */
export const CLOCK_TOLERANCE = 100;
/** How often to ask, every 20 ms, before a clock counts as one that stands still. */
const MAX_POLLS = 1_000;

/** The handles of one case, on a storage of its own. */
export class ConformanceContext {
  readonly #open: OpenStore;
  readonly #storage = `conformance_${crypto.randomUUID().replaceAll('-', '').slice(0, 16)}`;
  readonly #closers: (() => unknown)[] = [];

  constructor(open: OpenStore) {
    this.#open = open;
  }

  /** Opens a handle, as another process would. */
  async openHandle(): Promise<JournalStore> {
    const opened = await this.#open(this.#storage);
    if ('read' in opened) return opened;
    this.#closers.push(() => opened.close?.());
    return opened.store;
  }

  openHandles(count: number): Promise<JournalStore[]> {
    return Promise.all(Array.from({ length: count }, () => this.openHandle()));
  }

  /** Opens a handle with the methods of a part. A store without them cannot pass. */
  async openPart<Name extends OptionalPart>(part: Name): Promise<JournalStore & Part<Name>> {
    const store = await this.openHandle();
    assertPart(store, part);
    return store;
  }

  async closeAll(): Promise<void> {
    for (const close of this.#closers.splice(0)) await close();
  }
}

function assertPart<Name extends OptionalPart>(
  store: JournalStore,
  part: Name,
): asserts store is JournalStore & Part<Name> {
  const missing = optionalMethods[part].find((method) => typeof store[method] !== 'function');
  assert(
    missing === undefined,
    `The store has no ${missing}. If that is on purpose, pass { without: ['${part}'] } to journalConformance.`,
  );
}

export const createKeys = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `order ${String(index).padStart(4, '0')}`);

/** Returns a write of a record that is found by `index`, or by its key only: the first, unless a version is expected. */
export function createWrite(
  key: string,
  index: Partial<RecordIndex> | null = null,
  expected: string | null = null,
): RecordWrite {
  const version = crypto.randomUUID();
  const found = index && { kind: 'order' as const, createdAt: 0, attentionAt: null, dueAt: null, ...index };
  // A column can be of a type that takes JSON only, and a journal writes nothing else.
  const text = JSON.stringify({ key, version });
  return { key, change: { expected, version, text, mustCommit: true, index: found } };
}

/** Writes a record over the one before, if there is one. */
export async function writeRecord(
  store: JournalStore,
  key: string,
  index: Partial<RecordIndex> | null = null,
) {
  const expected = (await store.read(key)).record?.version ?? null;
  const { change } = createWrite(key, index, expected);
  const isWritten = await store.write(key, change);
  assert(isWritten, `write returned false, although the record had the expected version ${expected}`);
  return change;
}

/** Expects a record to be as a write has made it, or that there is none. */
export async function expectRecord(
  store: JournalStore,
  key: string,
  change: { readonly version: string; readonly text: string } | null,
  situation: string,
): Promise<void> {
  const { record } = await store.read(key);
  if (change === null) return assert(record === null, `read returned a record, ${situation}`);
  assert(record !== null, `read returned no record, ${situation}`);
  const what = record.version === change.version ? 'text' : 'version';
  assert(record[what] === change[what], `read returned another ${what} than was written, ${situation}`);
}

/** Expects a record that was found without its key to be the one that `read` returns. */
export async function expectSameRecord(store: JournalStore, found: ListedRecord, method: string) {
  const { record } = await store.read(found.key);
  const isSame = record?.version === found.version && record.text === found.text;
  assert(isSame, `${method} returned another version or text than read`);
}

export function expectKeys(
  found: readonly { readonly key: string }[],
  expected: readonly string[],
  what: string,
) {
  const keys = found.map(({ key }) => key);
  const isSame = keys.length === expected.length && keys.every((key, index) => key === expected[index]);
  assert(isSame, `${what} returned ${describeKeys(keys)} instead of ${describeKeys(expected)}`);
}

const describeKeys = (keys: readonly string[]) =>
  keys.length > 12 ? `${keys.length} records (${new Set(keys).size} different)` : `[${keys.join(', ')}]`;

/** Expects a time by the store's clock, or a span of it, to be what it should be. */
export function expectNear(time: number, earliest: number, latest: number, what: string): void {
  const isNear = time >= earliest - CLOCK_TOLERANCE && time <= latest + CLOCK_TOLERANCE;
  assert(isNear, `${what} is ${time} instead of ${earliest} to ${latest}`);
}

/** Returns the time by the store's clock, in whole milliseconds as an index has it. */
export async function readNow(store: JournalStore): Promise<number> {
  return Math.floor((await store.read('nothing')).now);
}

export async function waitUntil(store: JournalStore, time: number): Promise<void> {
  for (let poll = 0; (await readNow(store)) <= time + CLOCK_TOLERANCE; poll++) await pausePoll(poll);
}

type DueStore = JournalStore & Part<'followUps'>;

export async function claim(store: DueStore, lease: number, kind: RecordKind = 'order', limit = 100) {
  const claimed = await store.claimDue({ kind, limit, lease });
  const { length } = claimed.records;
  assert(length <= limit, `claimDue returned ${length} records, and its limit was ${limit}`);
  return claimed;
}

/** Claims until a key is returned. Expects that to be once its time `dueAt` has come by the store's clock, and not before. */
export async function expectDueAt(store: DueStore, key: string, dueAt: number, lease: number, what: string) {
  for (let poll = 0; ; poll++) {
    const { records, now } = await claim(store, lease);
    const found = records.find((record) => record.key === key);
    const late = now - dueAt;
    assert(!found || late >= -CLOCK_TOLERANCE, `claimDue returned ${what} ${-late} ms too early`);
    if (found) return { ...found, claimedAt: now };
    assert(late <= CLOCK_TOLERANCE, `claimDue did not return ${what} ${late} ms after its time`);
    await pausePoll(poll);
  }
}

async function pausePoll(poll: number): Promise<void> {
  assert(poll < MAX_POLLS, 'the time by the clock of the store does not go forward');
  await sleep(20, undefined);
}

/** @throws {Error} if a store does not hold what it promises. */
export function assert(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Error(message);
}
