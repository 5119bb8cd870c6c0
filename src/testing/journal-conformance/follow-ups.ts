import type { JournalStore, ListedRecord, RecordKind, RecordWrite } from '../../journal/store.ts';
import {
  assert,
  type ConformanceCases,
  type ConformanceContext,
  openStore,
  SHORT_LEASE,
  sleep,
} from './context.ts';

/** For how long the cases claim what is due, in milliseconds. */
const DUE_LEASE = 300;
/** How often to ask, every 20 ms, whether a record is due. A store's clock can be coarse, and a machine slow. */
const DUE_ATTEMPTS = 250;
/** When each record was created, in epoch milliseconds. */
const CREATED_AT = 1_765_432_109_876;
/** Long enough to be later than the case, in milliseconds. */
const LATER = 60_000;

/** Whether a record that was due after `elapsed` milliseconds was not due early. A store's clock can be adjusted meanwhile. */
const isDueAfter = (elapsed: number, dueIn: number) => elapsed >= 0.7 * dueIn;

type DueStore = JournalStore & Required<Pick<JournalStore, 'claimDue' | 'countDue'>>;

const openDueStore = (context: ConformanceContext): Promise<DueStore> =>
  openStore(context, 'claimDue', 'countDue');

/** What is due for a follow-up: when, once for each claim, and moved by each write. */
export const followUpCases: ConformanceCases = {
  async 'returns a record when it is due, and not before'(context) {
    const store = await openDueStore(context);
    const dueIn = 1_000;
    await write(store, 'now', 0);
    const startedAt = performance.now();
    await write(store, 'later', dueIn);
    const claimed = await claimKeys(store);
    assert(claimed.includes('now'), 'claimDue did not return a record that is due');
    // A slow store takes as long.
    if (!claimed.includes('later')) await waitForClaim(store, 'later', 'its time has come');
    const elapsed = Math.round(performance.now() - startedAt);
    assert(isDueAfter(elapsed, dueIn), `claimDue returned a record after ${elapsed} ms, due in ${dueIn}`);
  },
  async 'claims what is due, the earliest first'(context) {
    const store = await openDueStore(context);
    // A slow store needs a longer delay: the second write must be made before the first record is due.
    for (let dueIn = 1_100, isSlow = true; isSlow; dueIn *= 2) {
      const startedAt = performance.now();
      await write(store, 'later', dueIn);
      await write(store, 'earlier', 0);
      isSlow = performance.now() - startedAt > 0.7 * dueIn;
      await sleep(isSlow ? 0 : dueIn + 100);
    }
    const keys = (await claimPage(store, 2)).map(({ key }) => key).join();
    assert(keys === 'earlier,later', 'claimDue returned a record before one that was due earlier');
  },
  async 'gives a due record to one of many callers, until its lease ends'(context) {
    const store = await openDueStore(context);
    const others = await Promise.all([1, 2, 3].map(() => openDueStore(context)));
    const keys = context.newKeys(10);
    await Promise.all(keys.map((key) => write(store, key, 0)));
    const page = await claimPage(store, 3, LATER);
    const callers = [store, ...others, ...others, ...others].map((each) => claimKeys(each, LATER));
    const claimed = [...page.map(({ key }) => key), ...(await Promise.all(callers)).flat()];
    for (const key of keys) {
      const count = claimed.filter((other) => other === key).length;
      assert(count > 0, 'claimDue did not return a record that is due');
      assert(count === 1, `claimDue returned a record ${count} times within its lease`);
    }
    await write(store, 'again', 0);
    const startedAt = performance.now();
    assert((await claimKeys(store)).includes('again'), 'claimDue did not return a record that is due');
    await waitForClaim(store, 'again', 'the lease of its claim has ended');
    const elapsed = Math.round(performance.now() - startedAt);
    assert(
      isDueAfter(elapsed, DUE_LEASE),
      `claimDue returned a record again after ${elapsed} ms, claimed for ${DUE_LEASE}`,
    );
  },
  async 'returns what is due of one kind, and nothing of the other'(context) {
    const store = await openDueStore(context);
    const kinds = ['key', 'order'] as const;
    for (const kind of kinds) {
      await write(store, `${kind}-0`, 0, kind);
      await write(store, `${kind}-1`, LATER, kind);
    }
    for (const kind of kinds) {
      const { due } = await store.countDue({ kind });
      assert(due === 1, `countDue returned ${due}, and one record of the kind is due`);
      const keys = (await store.claimDue({ kind, limit: 10, lease: LATER })).map(({ key }) => key).join();
      assert(keys === `${kind}-0`, `claimDue returned ${keys} for what is due of the kind ${kind}`);
    }
  },
  async 'changes neither version nor age of a record that it claims'(context) {
    const store = await openDueStore(context);
    await write(store, 'claimed', 0);
    await sleep(SHORT_LEASE);
    const before = await store.read('claimed');
    const found = await waitForClaim(store, 'claimed', 'it was written so');
    const after = await store.read('claimed');
    assert(before !== null && after !== null, 'read returned no record');
    assert(after.version === before.version, 'claimDue changed the version of a record');
    const isSame = found.version === before.version && found.text === before.text;
    assert(isSame, 'claimDue returned another version or text than the record has');
    assert(found.createdAt === CREATED_AT, 'claimDue returned another createdAt than was written');
    assert(isDueAfter(found.age, before.age), 'claimDue returned another age than the record has');
    assert(isDueAfter(after.age, before.age), 'claimDue changed the age of a record');
  },
  async 'moves a record to when its latest write says, or to never'(context) {
    const [store, other] = [await openDueStore(context), await openDueStore(context)];
    await write(store, 'moved', 0);
    await waitForClaim(store, 'moved', 'it was written so');
    await write(store, 'moved', LATER);
    await sleep(DUE_LEASE + 100);
    assert((await claimKeys(other)).length === 0, 'claimDue returned a record that is due later');
    await write(other, 'moved', 0);
    await waitForClaim(store, 'moved', 'its next step is due');
    await write(store, 'moved', null);
    await sleep(DUE_LEASE + 100);
    assert((await claimKeys(other)).length === 0, 'claimDue returned a record that is never due');
  },
  async 'counts what is due, and tells when the next is'(context) {
    const store = await openDueStore(context);
    const keys = context.newKeys(10);
    await write(store, 'order', 0, 'order');
    const none = await store.countDue({ kind: 'key' });
    assert(none.due === 0 && none.nextIn === null, 'countDue returned that a key is due, and there is none');
    // As the journal does when it is busy.
    const writes = [...keys.map((key) => createWrite(key, 0)), createWrite('later', LATER)];
    writes.splice(5, 0, createWrite('latest', 2 * LATER), createWrite('never', null));
    const results = (await store.writeAll?.(writes).catch(() => [])) ?? [];
    for (const [index, { key, change }] of writes.entries())
      assert(
        results[index] ?? (await store.write(key, change)),
        'a record was not written, and there was none',
      );
    const { due, nextIn } = await store.countDue({ kind: 'key' });
    assert(due === keys.length, `countDue returned ${due}, but ${keys.length} keys are due`);
    const isNext = nextIn !== null && nextIn > LATER / 2 && nextIn <= LATER;
    assert(isNext, `countDue returned that the next is due in ${nextIn} ms, but one is in ${LATER}`);
    const claimed = await claimKeys(store, LATER);
    assert(
      keys.every((key) => claimed.includes(key)),
      'countDue claimed what it counted',
    );
    const after = await store.countDue({ kind: 'key' });
    assert(after.due === 0, 'countDue counts records that are claimed');
  },
};

/** Writes a record that is due in `dueIn` milliseconds, over the one before if there is one. */
async function write(store: DueStore, key: string, dueIn: number | null, kind: RecordKind = 'key') {
  const { change } = createWrite(key, dueIn, kind);
  if (await store.write(key, change)) return;
  const expected = (await store.read(key))?.version ?? null;
  const isWritten = await store.write(key, { ...change, expected, mustCommit: false });
  assert(isWritten, 'a record was not written, although it had the expected version');
}

/** Returns the first write of a record. */
function createWrite(key: string, dueIn: number | null, kind: RecordKind = 'key'): RecordWrite {
  const version = crypto.randomUUID();
  const index = { kind, state: 'completed', createdAt: CREATED_AT, reference: null };
  const text = JSON.stringify({ key });
  return { key, change: { expected: null, version, text, mustCommit: true, index, dueIn } };
}

/** Claims `limit` records at most. */
async function claimPage(
  store: DueStore,
  limit: number,
  lease = DUE_LEASE,
): Promise<readonly ListedRecord[]> {
  const records = await store.claimDue({ kind: 'key', limit, lease });
  assert(records.length <= limit, `claimDue returned ${records.length} records, and its limit was ${limit}`);
  return records;
}

/** Claims all that is due, and returns the keys. */
async function claimKeys(store: DueStore, lease?: number): Promise<string[]> {
  return (await claimPage(store, 100, lease)).map(({ key }) => key);
}

/** Claims until a key has been returned. */
async function waitForClaim(store: DueStore, key: string, situation: string): Promise<ListedRecord> {
  for (let attempt = 0; attempt < DUE_ATTEMPTS; attempt++) {
    const found = (await claimPage(store, 100)).find((record) => record.key === key);
    if (found) return found;
    await sleep(20);
  }
  throw new Error(`claimDue never returned a record that is due: ${situation}`);
}
