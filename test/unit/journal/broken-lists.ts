import { MAX_DUE_IN, type RecordIndex } from '../../../src/journal/store.ts';
import {
  type BrokenStores,
  changeIndexes,
  changeListed,
  changeWrites,
  pause,
  shareStores,
  type WholeStore,
} from './conformance-cases.ts';

const isLater = (time: number | null) => time !== null && time > Date.now();

/** A store that changes each record that it has claimed. */
const changeClaimed = (
  change: (store: WholeStore, key: string, at: number, lease: number) => Promise<unknown>,
) =>
  shareStores((store) => ({
    async claimDue(claim) {
      const claimed = await store.claimDue(claim);
      for (const { key, at } of claimed.records) await change(store, key, at, claim.lease);
      return claimed;
    },
  }));

/** A store whose `countDue` returns something else. */
const changeCounts = (
  change: (
    counted: { due: number; nextIn: number | null },
    store: WholeStore,
  ) => Partial<{ due: number; nextIn: number | null }>,
) =>
  shareStores((store) => ({
    async countDue(query) {
      const counted = await store.countDue(query);
      return { ...counted, ...change(counted, store) };
    },
  }));

/** A store that keeps what the writes of a record before say. */
const keepIndex = (find: (before: RecordIndex, index: RecordIndex | null) => RecordIndex | null) =>
  shareStores(({ write, written }) => ({
    async write(key, change) {
      const before = written.get(key)?.index;
      return write(key, before ? { ...change, index: find(before, change.index) } : change);
    },
  }));

/** A store that lists more, and leaves out some of it. */
const listAll = (
  pick: (...args: [...Parameters<WholeStore['list']>, WholeStore]) => ReturnType<WholeStore['list']>,
) => shareStores((store) => ({ list: (query) => pick(query, store) }));

const deleteOther = (remove: (store: WholeStore) => WholeStore['delete']) =>
  shareStores((store) => ({ delete: remove(store) }));

const newTimes = 'moves a record to when its latest write says, or to never';

export const brokenLists: BrokenStores = {
  'lists records by time and key, and each once in all pages': [
    [
      'lists the latest first',
      'instead of',
      listAll(async (query, { list }) =>
        (await list({ ...query, limit: 1_000 })).toReversed().slice(0, query.limit),
      ),
    ],
    [
      'lists more than was asked for',
      'records, and its limit was 1',
      listAll((query, { list }) => list({ ...query, limit: 1_000 })),
    ],
    [
      'returns the first page over and over',
      'list by createdAt, in pages of 1, returned 100 records (1 different)',
      listAll((query, { list }) => list({ ...query, after: null })),
    ],
    [
      'begins a page with the last record of the page before',
      'list by createdAt, in pages of 1, returned 100 records (1 different)',
      listAll(({ after, ...query }, { list }) =>
        list({ ...query, after: after && { ...after, key: after.key.slice(0, -1) } }),
      ),
    ],
    [
      'leaves out what is at the time of the last of a page',
      'list by createdAt, in pages of 1, returned [order 0000, order 0001, order 0002, order 0005, order 0013]',
      listAll(({ after, ...query }, { list }) => list({ ...query, after: after && { ...after, key: '~' } })),
    ],
    [
      'has no order at one time',
      'in pages of',
      listAll(async ({ after, limit, ...query }, { list }) => {
        const all = await list({ ...query, after: null, limit: 1_000 });
        const mixed = all.toSorted((one, other) => one.at - other.at || Number(one.key < other.key) - 0.5);
        const start = mixed.findIndex(({ key }) => key === after?.key) + 1;
        return mixed.slice(start, start + limit);
      }),
    ],
    [
      'lists another version',
      'list returned another version or text than read',
      changeListed(() => ({ version: 'x' })),
    ],
    [
      'lists another text',
      'list returned another version or text than read',
      changeListed(() => ({ text: '{}' })),
    ],
    [
      'keeps times in seconds',
      'list by createdAt, in pages of 1, returned 100 records (2 different)',
      changeListed(({ at }) => ({ at: Math.floor(at / 1_000) * 1_000 })),
    ],
    [
      'keeps times in 32 bits',
      'instead of',
      changeIndexes(({ createdAt }) => ({ createdAt: createdAt | 0 })),
    ],
    [
      'cannot keep the latest time',
      'returned order late at 253402300799999',
      changeIndexes(({ createdAt }) => ({ createdAt: Math.min(createdAt, 253_402_300_799_999) })),
    ],
    [
      'returns another time, and goes on after the key',
      'list by createdAt returned a record at 0 instead of 1',
      listAll(async ({ after, ...query }, { list, written }) => {
        const at = written.get(after?.key ?? '')?.index?.[query.by] ?? 0;
        const page = await list({ ...query, after: after && { key: after.key, at } });
        return page.map((record) => ({ ...record, at: 0 }));
      }),
    ],
  ],
  'lists and counts who needs a person once its time has come': [
    [
      'lists what is needed later',
      'and one record is listed later, and one never, returned [order later, order now]',
      changeIndexes(({ attentionAt }) => (isLater(attentionAt) ? { attentionAt: Date.now() } : {})),
    ],
    [
      'lists what is needed never',
      'returned [order never, order now]',
      changeIndexes(({ attentionAt }) => ({ attentionAt: attentionAt ?? 0 })),
    ],
    [
      'never lists what is needed later',
      'once the time of both has come, returned [order now]',
      changeIndexes(({ attentionAt }) => (isLater(attentionAt) ? { attentionAt: null } : {})),
    ],
    [
      'counts what is needed later',
      'count returned attention 2 instead of 1',
      shareStores(({ count, written }) => ({
        async count() {
          const needed = [...written.values()].filter(({ index }) => (index?.attentionAt ?? null) !== null);
          return { ...(await count()), attention: needed.length };
        },
      })),
    ],
    [
      'counts records without an index',
      'count returned 4 records, and 3 have an index',
      shareStores(({ count, written }) => ({
        count: async () => ({ ...(await count()), records: written.size }),
      })),
    ],
    [
      'counts one kind',
      'count returned 2 records, and 3 have an index',
      shareStores(({ count, written }) => ({
        async count() {
          const orders = [...written.values()].filter(({ index }) => index?.kind === 'order');
          return { ...(await count()), records: orders.length };
        },
      })),
    ],
  ],
  'moves a record in the lists when its index changes': [
    [
      'lists by the other time',
      'list by createdAt, after two writes, returned [order, moved]',
      listAll((query, { list }) => list({ ...query, by: 'attentionAt' })),
    ],
    [
      'keeps the first times',
      'list by createdAt, after the index of one has changed, returned [moved, order]',
      keepIndex((before, index) => index && before),
    ],
    [
      'keeps a time that has become null',
      'list by attentionAt, after the attentionAt of one has become null, returned [moved, order]',
      keepIndex(
        ({ attentionAt }, index) => index && { ...index, attentionAt: index.attentionAt ?? attentionAt },
      ),
    ],
    [
      'keeps an index that has become null',
      'list by createdAt, after the index of one has become null, returned [order, moved]',
      keepIndex((before, index) => index ?? before),
    ],
    [
      'counts each write',
      'count returned 3 records',
      (() => {
        let writes = 0;
        return shareStores(({ write, count }) => ({
          write: (key, change) => {
            writes++;
            return write(key, change);
          },
          count: async () => ({ ...(await count()), records: writes }),
        }));
      })(),
    ],
  ],
  'returns a record when it is due, and not before': [
    ['makes all due at once', 'ms too early', changeIndexes(() => ({ dueAt: 0 }))],
    ['makes nothing due', 'claimDue did not return a record 1', changeIndexes(() => ({ dueAt: null }))],
    [
      'returns what is due a second late',
      'claimDue did not return a record 1',
      changeIndexes(({ dueAt }) => ({ dueAt: dueAt && dueAt + 1_000 })),
    ],
    [
      'returns another time',
      'claimDue returned a record at 0, which was due at',
      changeClaims(({ records, now }) => ({ records: records.map((record) => ({ ...record, at: 0 })), now })),
    ],
    [
      'returns another text',
      'claimDue returned another version or text than read',
      changeClaims(({ records, now }) => ({
        records: records.map((record) => ({ ...record, text: '{}' })),
        now,
      })),
    ],
    [
      'tells the time in seconds',
      'ms too early',
      changeClaims(({ records, now }) => ({ records, now: now / 1_000 })),
    ],
    [
      'tells another time than it reads',
      'the time that claimDue returned is',
      shareStores(({ claimDue, read }) => ({
        read: async (key) => ({ ...(await read(key)), now: Date.now() - 10_000 }),
        claimDue,
      })),
    ],
  ],
  'claims what is due of one kind, the earliest first': [
    [
      'claims the latest first',
      'claimDue of two of the kind key returned [key 4, key 3] instead of [key 0, key 1]',
      shareStores(({ claimDue }) => ({
        async claimDue(claim) {
          const { records, now } = await claimDue({ ...claim, limit: 1_000 });
          return { records: records.toReversed().slice(0, claim.limit), now };
        },
      })),
    ],
    [
      'claims more than was asked for',
      'claimDue returned 5 records, and its limit was 2',
      shareStores(({ claimDue }) => ({ claimDue: (claim) => claimDue({ ...claim, limit: 1_000 }) })),
    ],
    [
      'claims more than it returns',
      'claimDue of the others of the kind key returned []',
      shareStores(({ claimDue }) => ({
        async claimDue(claim) {
          const { records, now } = await claimDue({ ...claim, limit: 1_000 });
          return { records: records.slice(0, claim.limit), now };
        },
      })),
    ],
    [
      'claims of the other kind too',
      'claimDue of two of the kind key returned [key 0, order 0]',
      shareStores(({ claimDue }) => ({
        async claimDue(claim) {
          const one = await claimDue({ ...claim, kind: 'key', limit: 1 });
          const other = await claimDue({ ...claim, kind: 'order', limit: 1 });
          return { records: [...one.records, ...other.records], now: one.now };
        },
      })),
    ],
    [
      'counts what is due of each kind',
      'countDue returned 10, and 5 of the kind key are due',
      shareStores(({ countDue }) => ({
        async countDue(query) {
          const [one, other] = [await countDue({ kind: 'key' }), await countDue({ kind: 'order' })];
          return { ...(await countDue(query)), due: one.due + other.due };
        },
      })),
    ],
  ],
  'gives a due record to one of many callers, until its lease ends': [
    [
      'returns what is due without a claim',
      'times within its lease',
      changeClaimed((store, key, at) => store.put(key, {}, { dueAt: at })),
    ],
    [
      'claims in two steps',
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
    [
      'keeps a claim for half of its lease',
      'claimDue returned a claimed record 1',
      shareStores(({ claimDue }) => ({
        claimDue: (claim) => claimDue({ ...claim, lease: claim.lease / 2 }),
      })),
    ],
    [
      'never returns again what was claimed',
      'claimDue did not return a claimed record 1',
      changeClaimed((store, key) => store.put(key, {}, { dueAt: null })),
    ],
  ],
  'changes nothing but the time when a record is due by a claim': [
    [
      'gives a claimed record another version',
      'read returned another version than was written, after a claim',
      changeClaimed((store, key, at, lease) => store.put(key, { version: 'x' }, { dueAt: at + lease })),
    ],
    [
      'gives a claimed record another text',
      'read returned another text than was written, after a claim',
      changeClaimed((store, key, at, lease) => store.put(key, { text: '{}' }, { dueAt: at + lease })),
    ],
    [
      'moves a claimed record in the list',
      'list by attentionAt returned a record at 0 after a claim',
      changeClaimed((store, key, at, lease) => store.put(key, {}, { attentionAt: 0, dueAt: at + lease })),
    ],
    [
      'lets nobody write a claimed record',
      'write returned false for the version that was claimed',
      shareStores(({ claimDue, write }) => {
        const claimed = new Set<string>();
        return {
          async claimDue(claim) {
            const found = await claimDue(claim);
            for (const { key } of found.records) claimed.add(key);
            return found;
          },
          write: async (key, change) => !claimed.has(key) && (await write(key, change)),
        };
      }),
    ],
  ],
  [newTimes]: [
    [
      'keeps the lease of a claim through a write',
      'claimDue, after a claim and a write of a record that is due, returned []',
      keepIndex((_, index) => index && { ...index, dueAt: index.dueAt && index.dueAt + 3_600_000 }),
    ],
    [
      'leaves a record due that is due later',
      'claimDue, after a record that was due is due later, returned [order]',
      keepIndex(
        ({ dueAt }, index) => index && { ...index, dueAt: isLater(index.dueAt) ? dueAt : index.dueAt },
      ),
    ],
    [
      'leaves a record due that is never due',
      'claimDue, after a record that was due is never due, returned [order]',
      keepIndex(({ dueAt }, index) => index && { ...index, dueAt: index.dueAt ?? dueAt }),
    ],
    [
      'leaves a record due that has no index',
      'claimDue, after a record that was due has no index, returned [order]',
      keepIndex((before, index) => index ?? before),
    ],
    [
      'keeps the first kind',
      'claimDue, after a record has become one of another kind, returned [order]',
      changeWrites(({ index }) => ({ index: index && { ...index, kind: 'order' } })),
    ],
  ],
  'counts a record as due that is due too late': [
    [
      'waits until it is due',
      'countDue returned 0, and one record is due later than MAX_DUE_IN from now',
      changeIndexes(({ dueAt }) => ({ dueAt: dueAt && Math.min(dueAt, Date.now() + MAX_DUE_IN) })),
    ],
    [
      'counts it, and does not claim it',
      'claimDue returned [] instead of [order wrong]',
      changeClaims(({ records, now }) => ({ records: records.filter(({ at }) => at <= now), now })),
    ],
    [
      'counts all as due that is due later',
      'countDue returned 2, and one record is due later',
      changeIndexes(({ dueAt }) => ({ dueAt: isLater(dueAt) ? 0 : dueAt })),
    ],
    [
      'leaves it due when it is claimed',
      'claimDue, within the lease of a record that was due too late, returned [order wrong]',
      changeClaimed((store, key) => store.put(key, {}, {})),
    ],
  ],
  'counts what is due, and tells when the next is': [
    [
      'counts nothing as due',
      'countDue returned 0 instead of 3, and three are due',
      changeCounts(() => ({ due: 0 })),
    ],
    [
      'counts what is planned',
      'countDue returned 5 instead of 3, and two are due later',
      changeCounts(({ due }, { written }) => {
        const later = [...written.values()].filter(
          ({ index }) => index?.kind === 'order' && isLater(index.dueAt),
        );
        return { due: due + later.length };
      }),
    ],
    [
      'says that the next is due now when there is none',
      'countDue returned that the next is due in 0 ms, and no order is planned',
      changeCounts(({ nextIn }) => ({ nextIn: nextIn ?? 0 })),
    ],
    [
      'does not tell when the next is due',
      'countDue returned that the next is due in null ms, and two are due later',
      changeCounts(() => ({ nextIn: null })),
    ],
    [
      'tells when the last is due',
      'nextIn of countDue, and two are due later, is 10',
      changeCounts(({ nextIn }, { written }) => {
        const times = [...written.values()].map(({ index }) => index?.dueAt ?? 0);
        return { nextIn: nextIn && Math.max(...times) - Date.now() };
      }),
    ],
    [
      'tells the time of the next in seconds',
      'nextIn of countDue, and two are due later, is 7',
      changeCounts(({ nextIn }) => ({ nextIn: nextIn && nextIn / 1_000 })),
    ],
    [
      'claims what it counts',
      'countDue returned 0 instead of 3, and two are due later',
      shareStores(({ countDue, claimDue }) => ({
        async countDue(query) {
          const counted = await countDue(query);
          await claimDue({ ...query, limit: 1_000, lease: 60_000 });
          return counted;
        },
      })),
    ],
  ],
  'deletes the records that still have their version, and no others': [
    [
      'deletes any version',
      'delete returned 4, and two records had their version',
      deleteOther((store) => async (records) => {
        const found = await Promise.all(
          records.map(async ({ key }) => ({ key, ...(await store.read(key)).record })),
        );
        return store.delete(found.flatMap(({ key, version }) => (version ? [{ key, version }] : [])));
      }),
    ],
    [
      'compares versions without their case',
      'delete returned 3, and two records had their version',
      deleteOther(
        (store) => (records) =>
          store.delete(records.map(({ key, version }) => ({ key, version: version.toLowerCase() }))),
      ),
    ],
    ['deletes nothing', 'read returned a record, after it was deleted', deleteOther(() => async () => 2)],
    [
      'deletes the first only',
      'delete returned 1, and two records had their version',
      deleteOther((store) => async (records) => {
        for (const record of records) if ((await store.delete([record])) === 1) return 1;
        return 0;
      }),
    ],
    [
      'keeps what it was found by',
      'count returned 4 records, attention 4',
      keepIndex((before, index) => index && { ...index, attentionAt: before.attentionAt }),
    ],
    [
      'keeps when it was due',
      'countDue returned 4, and 3 of the records that are left are due',
      keepIndex((before, index) => index && { ...index, dueAt: before.dueAt }),
    ],
    [
      'refuses a key that was deleted',
      'write returned false',
      (() => {
        const deleted = new Set<string>();
        return shareStores(({ delete: remove, write }) => ({
          delete(records) {
            for (const { key } of records) deleted.add(key);
            return remove(records);
          },
          write: async (key, change) => !deleted.has(key) && (await write(key, change)),
        }));
      })(),
    ],
  ],
};

/** A store whose `claimDue` returns something else. */
function changeClaims(
  change: (
    claimed: Awaited<ReturnType<WholeStore['claimDue']>>,
  ) => Awaited<ReturnType<WholeStore['claimDue']>>,
) {
  return shareStores(({ claimDue }) => ({ claimDue: async (claim) => change(await claimDue(claim)) }));
}
