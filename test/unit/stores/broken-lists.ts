import { MAX_DUE_IN, type RecordIndex } from '../../../src/journal/store.ts';
import {
  type BrokenStores,
  changeIndexes,
  pause,
  shareStores,
  type WholeStore,
} from './conformance-cases.ts';

type Claimed = Awaited<ReturnType<WholeStore['claimDue']>>;
type Counted = Awaited<ReturnType<WholeStore['countDue']>>;

const isLater = (time: number | null) => time !== null && time > Date.now();

type List = WholeStore['list'];
type Delete = WholeStore['delete'];
const changeList = (list: (store: WholeStore, query: Parameters<List>[0]) => ReturnType<List>) =>
  shareStores((store) => ({ list: (query) => list(store, query) }));
const changeClaims = (change: (claimed: Claimed) => Partial<Claimed>) =>
  shareStores(({ claimDue }) => ({
    async claimDue(claim) {
      const claimed = await claimDue(claim);
      return { ...claimed, ...change(claimed) };
    },
  }));
const changeDueCount = (change: (counted: Counted) => Partial<Counted>) =>
  shareStores(({ countDue }) => ({
    async countDue(query) {
      const counted = await countDue(query);
      return { ...counted, ...change(counted) };
    },
  }));
const changeDelete = (remove: (store: WholeStore, records: Parameters<Delete>[0]) => ReturnType<Delete>) =>
  shareStores((store) => ({ delete: (records) => remove(store, records) }));

/** Changes each record after it was claimed. */
const afterClaim = (put: (next: number, at: number) => Parameters<WholeStore['put']>[1]) =>
  shareStores((store) => ({
    async claimDue(claim) {
      const claimed = await store.claimDue(claim);
      for (const { key, at } of claimed.records) await store.put(key, put(claimed.now + claim.lease, at));
      return claimed;
    },
  }));

/** Finds a record by what its writes before say. */
const keepIndex = (find: (before: RecordIndex, index: RecordIndex) => Partial<RecordIndex>) =>
  changeIndexes((index, before) => (before ? find(before, index) : {}));

const countEach = shareStores(({ count, written }) => ({
  count: async () => ({ ...(await count()), records: written.size }),
}));
const keepLostIndex = shareStores(({ write, written }) => ({
  write: (key, change) => write(key, { ...change, index: change.index ?? written.get(key)?.index ?? null }),
}));

export const brokenLists: BrokenStores = {
  'lists records by time and key, and each once in all pages': {
    'lists the latest first': [
      'returned [order 0016]',
      changeList(async ({ list }, { limit, ...query }) => {
        const all = await list({ ...query, limit: 1_000 });
        return all.toReversed().slice(0, limit);
      }),
    ],
    'ignores the limit': [
      'records, and its limit was 1',
      changeList(({ list }, query) => list({ ...query, limit: 1_000 })),
    ],
    'returns the first page over and over': [
      'in pages of 1, returned 100 records (1 different)',
      changeList(({ list }, query) => list({ ...query, after: null })),
    ],
    'leaves out what is at the time of the last of a page': [
      'returned [order 0000, order 0001, order 0002, order 0005, order 0013]',
      changeList(({ list }, { after, ...query }) =>
        list({ ...query, after: after && { ...after, key: '~' } }),
      ),
    ],
    'lists another version': [
      'list returned another version or text than read',
      changeList(async ({ list }, query) =>
        (await list(query)).map((record) => ({ ...record, version: 'x' })),
      ),
    ],
    'returns another time, and goes on after the key': [
      'list by createdAt returned a record at 0 instead of 1',
      changeList(async ({ list, written }, { after, ...query }) => {
        const at = written.get(after?.key ?? '')?.index?.[query.by] ?? 0;
        const page = await list({ ...query, after: after && { key: after.key, at } });
        return page.map((record) => ({ ...record, at: 0 }));
      }),
    ],
    'has 32 bits for a time': [
      'list by createdAt returned a record at ',
      changeIndexes(({ createdAt }) => ({ createdAt: createdAt % 2 ** 32 })),
    ],
    'cannot keep the latest time': [
      'returned order late at 253402300799999',
      changeIndexes(({ createdAt }) => ({ createdAt: Math.min(createdAt, 253_402_300_799_999) })),
    ],
  },
  'lists and counts who needs a person once its time has come': {
    'lists what is needed later': [
      'one never, returned [order later, order now]',
      changeIndexes(({ attentionAt }) => (isLater(attentionAt) ? { attentionAt: Date.now() } : {})),
    ],
    'lists what is needed never': [
      'one never, returned [order never, order now]',
      changeIndexes(({ attentionAt }) => ({ attentionAt: attentionAt ?? 0 })),
    ],
    'never lists what is needed later': [
      'once the time of both has come, returned [order now]',
      changeIndexes(({ attentionAt }) => (isLater(attentionAt) ? { attentionAt: null } : {})),
    ],
    'counts what is needed later': [
      'count returned attention 3 instead of 1',
      shareStores(({ count }) => ({
        async count() {
          const { records } = await count();
          return { records, attention: records };
        },
      })),
    ],
    'counts records without an index': ['count returned 4 records, and 3 have an index', countEach],
  },
  'moves a record in the lists when its index changes': {
    'lists by the other time': [
      'list by createdAt, after two writes, returned [order, moved]',
      changeList(({ list }, query) => list({ ...query, by: 'attentionAt' })),
    ],
    'keeps the first times': [
      'list by createdAt, after the index of one has changed, returned [moved, order]',
      keepIndex((before) => before),
    ],
    'keeps a time that has become null': [
      'after the attentionAt of one has become null, returned [moved, order]',
      keepIndex((before, { attentionAt }) => ({ attentionAt: attentionAt ?? before.attentionAt })),
    ],
    'keeps a lost index': ['the index of one has become null, returned [order, moved]', keepLostIndex],
    'counts a lost index': ['count returned 2 records, attention 1, after the index of one', countEach],
  },
  'returns a record when it is due, and not before': {
    'makes all due at once': ['ms too early', changeIndexes(() => ({ dueAt: 0 }))],
    'makes nothing due': ['claimDue did not return a record 1', changeIndexes(() => ({ dueAt: null }))],
    'tells the time in seconds': ['ms too early', changeClaims(({ now }) => ({ now: now / 1_000 }))],
    'tells another time than it reads': [
      'the time that claimDue returned is',
      shareStores(({ read }) => ({
        read: async (key) => ({ ...(await read(key)), now: Date.now() - 10_000 }),
      })),
    ],
    'returns another time': [
      'claimDue returned a record at 0, which was due at',
      changeClaims(({ records }) => ({ records: records.map((record) => ({ ...record, at: 0 })) })),
    ],
    'returns another text': [
      'claimDue returned another version or text than read',
      changeClaims(({ records }) => ({ records: records.map((record) => ({ ...record, text: '{}' })) })),
    ],
  },
  'claims what is due of one kind, the earliest first': {
    'claims the latest first': [
      'claimDue of two of the kind key returned [key 1, key 0]',
      changeClaims(({ records }) => ({ records: records.toReversed() })),
    ],
    'ignores the limit': [
      'claimDue returned 5 records, and its limit was 2',
      shareStores(({ claimDue }) => ({ claimDue: (claim) => claimDue({ ...claim, limit: 1_000 }) })),
    ],
    'claims more than it returns': [
      'claimDue of the others of the kind key returned []',
      shareStores(({ claimDue }) => ({
        async claimDue(claim) {
          const { records, now } = await claimDue({ ...claim, limit: 1_000 });
          return { records: records.slice(0, claim.limit), now };
        },
      })),
    ],
    'claims of the other kind': [
      'claimDue of two of the kind key returned [order 0, order 1]',
      shareStores(({ claimDue }) => ({ claimDue: (claim) => claimDue({ ...claim, kind: 'order' }) })),
    ],
    'has one kind': ['countDue returned 10, and 5 of the kind key', changeIndexes(() => ({ kind: 'key' }))],
  },
  'gives a due record to one of many callers, until its lease ends': {
    'returns what is due without a claim': ['times within its lease', afterClaim((_, at) => ({ dueAt: at }))],
    'claims in two steps': [
      'times within its lease',
      shareStores(({ claimDue }) => ({
        async claimDue(claim) {
          const claimed = await claimDue({ ...claim, lease: 0 });
          await pause(1);
          await claimDue(claim);
          return claimed;
        },
      })),
    ],
    'keeps a claim for half of its lease': [
      'claimDue returned a claimed record 1',
      shareStores(({ claimDue }) => ({
        claimDue: (claim) => claimDue({ ...claim, lease: claim.lease / 2 }),
      })),
    ],
    'claims for ever': ['claimDue did not return a claimed record 1', afterClaim(() => ({ dueAt: null }))],
  },
  'changes nothing but the time when a record is due by a claim': {
    'changes the version': [
      'read returned another version',
      afterClaim((dueAt) => ({ dueAt, version: 'x' })),
    ],
    'changes the text': ['read returned another text', afterClaim((dueAt) => ({ dueAt, text: '{}' }))],
    'changes another time': [
      'list by attentionAt returned a record at 0 after a claim',
      afterClaim((dueAt) => ({ dueAt, attentionAt: 0 })),
    ],
  },
  'moves a record to when its latest write says, or to never': {
    'keeps the lease of a claim through a write': [
      'claimDue, after a claim and a write of a record that is due, returned []',
      keepIndex((_, { dueAt }) => ({ dueAt: dueAt && dueAt + 3_600_000 })),
    ],
    'leaves a record due that is due later': [
      'claimDue, after a record that was due is due later, returned [order]',
      keepIndex((before, { dueAt }) => ({ dueAt: isLater(dueAt) ? before.dueAt : dueAt })),
    ],
    'leaves a record due that is never due': [
      'claimDue, after a record that was due is never due, returned [order]',
      keepIndex((before, { dueAt }) => ({ dueAt: dueAt ?? before.dueAt })),
    ],
    'keeps a lost index': [
      'claimDue, after a record that was due has no index, returned [order]',
      keepLostIndex,
    ],
    'has one kind': [
      'has become one of another kind, returned [order]',
      changeIndexes(() => ({ kind: 'order' })),
    ],
  },
  'counts a record as due that is due too late': {
    'waits until it is due': [
      'countDue returned 0, and one record is due later than MAX_DUE_IN from now',
      changeIndexes(({ dueAt }) => ({ dueAt: dueAt && Math.min(dueAt, Date.now() + MAX_DUE_IN) })),
    ],
    'counts all as due that is due later': [
      'countDue returned 2, and one record is due later',
      changeIndexes(({ dueAt }) => ({ dueAt: isLater(dueAt) ? 0 : dueAt })),
    ],
    'counts it, and does not claim it': [
      'claimDue returned [] instead of [order wrong]',
      changeClaims(({ records, now }) => ({ records: records.filter(({ at }) => at <= now) })),
    ],
    'leaves it due': ['due too late, returned [order wrong]', afterClaim((_, at) => ({ dueAt: at }))],
    'tells when it is due': ['nextIn of countDue is 9', changeDueCount(() => ({ nextIn: MAX_DUE_IN }))],
  },
  'counts what is due, and tells when the next is': {
    'counts nothing as due': ['countDue returned 0 instead of 3', changeDueCount(() => ({ due: 0 }))],
    'counts what is due later': [
      'countDue returned 4 instead of 3, and two are due later',
      changeDueCount(({ due, nextIn }) => ({ due: due + Number(nextIn !== null) })),
    ],
    'says that the next is due now when there is none': [
      'the next is due in 0 ms, and no order is planned',
      changeDueCount(({ nextIn }) => ({ nextIn: nextIn ?? 0 })),
    ],
    'tells no next': ['the next is due in null ms, and two are', changeDueCount(() => ({ nextIn: null }))],
    'tells when another is due': [
      'nextIn of countDue, and two are due later, is 10',
      changeDueCount(({ nextIn }) => ({ nextIn: nextIn && nextIn + 3_600_000 })),
    ],
    'claims what it counts': [
      'countDue returned 0 instead of 3, and two are due later',
      shareStores(({ countDue, claimDue }) => ({
        async countDue(query) {
          const counted = await countDue(query);
          await claimDue({ ...query, limit: 1_000, lease: 60_000 });
          return counted;
        },
      })),
    ],
  },
  'deletes the records that still have their version, and no others': {
    'deletes any version': [
      'delete returned 4, and two records had their version',
      changeDelete(({ delete: remove, written }, records) =>
        remove(records.map(({ key }) => ({ key, version: written.get(key)?.version ?? '' }))),
      ),
    ],
    'compares versions without their case': [
      'delete returned 3, and two records had their version',
      changeDelete(({ delete: remove }, records) =>
        remove(records.map(({ key, version }) => ({ key, version: version.toLowerCase() }))),
      ),
    ],
    'deletes the first only': [
      'delete returned 1, and two records had their version',
      changeDelete(({ delete: remove }, records) => remove(records.slice(0, 2))),
    ],
    'deletes all': [
      'read returned no record, after others were deleted',
      changeDelete(async ({ delete: remove, written }) => {
        await remove([...written].map(([key, { version }]) => ({ key, version })));
        return 2;
      }),
    ],
    'deletes nothing': ['read returned a record, after it was deleted', changeDelete(async () => 2)],
    'refuses a key that was deleted': [
      'write returned false',
      shareStores(({ write, written }) => ({
        write: async (key, change) => (change.expected !== null || !written.has(key)) && write(key, change),
      })),
    ],
    'keeps when a person is needed': [
      'count returned 4 records, attention 4',
      keepIndex(({ attentionAt }) => ({ attentionAt })),
    ],
    'keeps when it was due': [
      'countDue returned 4, and 3 of the records',
      keepIndex(({ dueAt }) => ({ dueAt })),
    ],
  },
};
