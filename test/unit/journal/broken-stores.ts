import { createJournal, type JournalStore } from '../../../src/journal/index.ts';
import { createFaultyStore, type StoredEntry } from '../../helpers/faulty-store.ts';
import {
  AGAIN,
  BEGUN,
  COUNTS,
  DIES,
  DURING,
  deciding,
  GROUP,
  NEVER,
  ONE,
  OUTLIVES,
  pause,
  RACE,
  RENEWED,
  shared,
  type Wrong,
} from './conformance-cases.ts';

const withoutTime = (text: string) => text.replace(/"updatedAt":\d+/, '');

export const wrongStores: Wrong[] = [
  {
    what: 'says that all were written together',
    open: shared((records) => {
      const store = createFaultyStore(records);
      const writeAll: JournalStore['writeAll'] = async (writes) => {
        await Promise.all(writes.map(({ key, change }) => store.write(key, change)));
        return writes.map(() => true);
      };
      return { ...store, writeAll };
    }),
    found: GROUP,
    says: 'one of many claims at once was claimed, instead of in_progress',
  },
  {
    what: 'writes whatever was expected',
    open: deciding({ fits: () => true }),
    found: ONE,
    says: '12 of 12 callers got the claim of an unused key',
  },
  {
    what: 'reads, and writes later',
    open: deciding({ meanwhile: () => pause(1) }),
    found: ONE,
    says: '12 of 12 callers got the claim of an unused key',
  },
  {
    what: 'says that it wrote what it did not',
    open: deciding({ report: () => true }),
    found: ONE,
    says: '12 of 12 callers got the claim of an unused key',
  },
  {
    what: 'writes over a record where none was expected',
    open: deciding({
      fits: (found, { expected }) => expected === null || found?.version === expected,
    }),
    found: DIES,
    says: 'could be sent a second time',
  },
  {
    what: 'replaces any version where one was expected',
    open: deciding({ fits: (found, { expected }) => (found === undefined) === (expected === null) }),
    found: RACE,
    says: 'both complete and resolve succeeded',
  },
  {
    what: 'reads, and replaces later',
    open: deciding({ meanwhile: () => pause(1) }),
    found: AGAIN,
    says: 'of 12 callers got the claim of a key that was not_sent',
  },
  {
    what: 'frees a key while it is written',
    open: shared((records) => ({
      ...createFaultyStore(records),
      async write(key, change) {
        const found = records.get(key);
        if ((found?.version ?? null) !== change.expected) return false;
        records.delete(key);
        await pause(50);
        return createFaultyStore(records, { fits: () => true }).write(key, change);
      },
    })),
    found: DURING,
    says: 'claim returned claimed during a heartbeat',
  },
  {
    what: 'keeps its records in the handle',
    open: (options) => createJournal(createFaultyStore(new Map()), options),
    found: BEGUN,
    says: 'a handle does not see the claim',
  },
  {
    what: 'keeps its records in the handle',
    open: shared((records) => {
      const store = createFaultyStore(records);
      const seen = new Map<string, Awaited<ReturnType<JournalStore['read']>>>();
      return {
        ...store,
        async read(key) {
          const found = seen.get(key) ?? (await store.read(key));
          seen.set(key, found);
          return found;
        },
      };
    }),
    found: DIES,
    says: 'the key is in_progress instead of unknown, long after its lease',
  },
  {
    what: 'returns before it wrote',
    open: shared((records) => ({
      ...createFaultyStore(records),
      async write(key, change) {
        setTimeout(() => createFaultyStore(records).write(key, change), 100);
        return (records.get(key)?.version ?? null) === change.expected;
      },
    })),
    found: BEGUN,
    says: 'a handle does not see the claim',
  },
  {
    what: 'forgets when it is closed',
    open: (() => {
      const records = new Map<string, StoredEntry>();
      return (options) => ({
        journal: createJournal(createFaultyStore(records), options),
        close: () => records.clear(),
      });
    })(),
    found: OUTLIVES,
    says: 'claim returned claimed instead of completed',
  },
  {
    what: 'has no age',
    open: deciding({ ageOf: () => 0 }),
    found: DIES,
    says: 'the key is in_progress instead of unknown, long after its lease',
  },
  {
    what: 'reports the age in seconds',
    open: deciding({ ageOf: ({ writtenAt }) => (performance.now() - writtenAt) / 1000 }),
    found: DIES,
    says: 'the key is in_progress instead of unknown, long after its lease',
  },
  {
    what: 'reports the age in microseconds',
    open: deciding({ ageOf: ({ writtenAt }) => (performance.now() - writtenAt + 1) * 1000 }),
    found: COUNTS,
    says: 'within the lease, the claim reads as expired',
  },
  {
    what: 'reports the age since the first write',
    open: deciding({
      kept: ({ version, text }, before) => ({
        version,
        text,
        writtenAt: before?.writtenAt ?? performance.now(),
        droppedAt: null,
      }),
    }),
    found: COUNTS,
    says: 'within the lease, the claim reads as expired',
  },
  {
    what: 'leaves the version where the text is the same but for its time',
    open: deciding({
      kept: ({ version, text }, before) => ({
        version: before && withoutTime(before.text) === withoutTime(text) ? before.version : version,
        text,
        writtenAt: performance.now(),
        droppedAt: null,
      }),
    }),
    found: RENEWED,
    says: 'a heartbeat did not change the version',
  },
  {
    what: 'drops records by itself',
    open: deciding({
      kept: ({ version, text }) => ({
        version,
        text,
        writtenAt: performance.now(),
        droppedAt: performance.now() + 300,
      }),
    }),
    found: NEVER,
    says: 'claim returned claimed instead of unknown',
  },
];
