import { createJournal, type JournalStore } from '../../../src/journal/index.ts';
import type { OpenJournal } from '../../../src/testing/index.ts';
import { compareAge, createFaultyStore, type StoredEntry } from '../../helpers/faulty-store.ts';
import {
  BY_REFERENCE,
  COUNTED,
  COUNTED_DUE,
  DELETED,
  DUE,
  deciding,
  EARLIEST,
  KIND,
  LISTED,
  LISTED_EXPIRED,
  MOVED,
  NEXT_STEP,
  PAGES,
  pause,
  SHARED,
  shared,
  UNCHANGED,
  type Wrong,
} from './conformance-cases.ts';

/** A correct store, but for the methods that `change` replaces. */
const replacing = (
  change: (
    store: ReturnType<typeof createFaultyStore>,
    records: Map<string, StoredEntry>,
  ) => Partial<JournalStore>,
): OpenJournal =>
  shared((records) => {
    const store = createFaultyStore(records);
    return { ...store, ...change(store, records) };
  });

const inFuture = (milliseconds: number | null) =>
  milliseconds === null ? null : performance.now() + milliseconds;

/** Stores that list wrongly, or return what is due wrongly. */
export const brokenLists: Wrong[] = [
  {
    what: 'lists the newest first',
    open: deciding({ compareListed: (one, other) => compareAge(other, one) }),
    found: LISTED,
    says: 'list returned 3 keys in state unknown, 3 of them different, instead of 3 in their order',
  },
  {
    what: 'lists every state alike',
    open: replacing(({ list }, records) => ({
      async list(query) {
        const states = new Set([...records.values()].map(({ index }) => index?.state ?? ''));
        const pages = await Promise.all([...states].map((value) => list({ ...query, value })));
        return pages.flat().sort(compareAge);
      },
    })),
    found: LISTED,
    says: 'list returned 6 keys in state unknown, 3 of them different, instead of 3',
  },
  {
    what: 'looks up one of several references',
    open: replacing(({ list }) => ({
      listByReferences: ([value = '']) => list({ by: 'reference', value, after: null, limit: 10 }),
    })),
    found: BY_REFERENCE,
    says: 'listByReferences returned 3 records of three references, instead of 4',
  },
  {
    what: 'looks up an older version of a record',
    open: replacing(({ list }) => ({
      async listByReferences(references) {
        const query = { by: 'reference', after: null, limit: 10 } as const;
        const found = await Promise.all(references.map((value) => list({ ...query, value })));
        return found.flat().map((record) => ({ ...record, version: 'older' }));
      },
    })),
    found: BY_REFERENCE,
    says: 'listByReferences returned another version or text than read',
  },
  {
    what: 'lists what a handle wrote itself',
    open: (options) => createJournal(createFaultyStore(new Map()), options),
    found: LISTED,
    says: 'list returned 0 keys in state unknown',
  },
  {
    what: 'keeps a key in the state that it had first',
    open: deciding({ indexOf: ({ index }, before) => before?.index ?? index }),
    found: MOVED,
    says: 'list returned 0 keys in state not_charged',
  },
  {
    what: 'keeps a key in each state that it had',
    open: (() => {
      const old = new Map<string, Set<string>>();
      return replacing(({ list, write, read }) => ({
        async write(key, change) {
          if (change.index) old.set(key, (old.get(key) ?? new Set()).add(change.index.state));
          return write(key, change);
        },
        async list(query) {
          const found = [...(await list(query))];
          for (const [key, states] of old) {
            const record = await read(key);
            if (query.by !== 'state' || !record || !states.has(query.value)) continue;
            if (query.after === null && !found.some((item) => item.key === key))
              found.push({ ...record, key, createdAt: 1 });
          }
          return found;
        },
      }));
    })(),
    found: MOVED,
    says: 'list returned a key that is unknown as unknown, unknown',
  },
  {
    what: 'returns the first page over and over',
    open: deciding({ isAfter: () => true }),
    found: PAGES,
    says: 'list returned a key ten times',
  },
  {
    what: 'begins a page with the last record of the page before',
    open: deciding({ isAfter: (record, after) => compareAge(record, after) >= 0 }),
    found: PAGES,
    says: 'list returned 232 keys with reference, 230 of them different',
  },
  {
    what: 'leaves out what began at the same time as the last of a page',
    open: deciding({ isAfter: ({ createdAt }, after) => createdAt > after.createdAt }),
    found: PAGES,
    says: 'instead of 230',
  },
  {
    what: 'lists a page in no order',
    open: deciding({ compareListed: (one, other) => Number(one.key > other.key) - 0.5 }),
    found: PAGES,
    says: 'list returned',
  },
  {
    what: 'does not find a reference',
    open: deciding({ indexOf: ({ index }) => index && { ...index, reference: null } }),
    found: BY_REFERENCE,
    says: 'list returned 0 keys with a reference',
  },
  {
    what: 'does not find the reference of a key that was resolved',
    open: deciding({
      indexOf: ({ index }, before) =>
        index && { ...index, reference: before?.index?.reference ?? index.reference },
    }),
    found: BY_REFERENCE,
    says: 'that was resolved',
  },
  {
    what: 'lists every record as an old one',
    open: replacing(({ list }) => ({
      list: async (query) => (await list(query)).map((record) => ({ ...record, age: 3_600_000 })),
    })),
    found: LISTED_EXPIRED,
    says: 'list returned 0 keys in state begun, within the lease',
  },
  {
    what: 'lists no claim whose process has died',
    open: replacing(({ list }) => ({
      list: async (query) => (await list(query)).map((record) => ({ ...record, age: 0 })),
    })),
    found: LISTED_EXPIRED,
    says: 'list never returned an expired claim as unknown',
  },
  {
    what: 'counts a key in each state that it had',
    open: (() => {
      const counts: Record<string, number> = {};
      return replacing(({ write }) => ({
        async write(key, change) {
          const isWritten = await write(key, change);
          if (isWritten && change.index) counts[change.index.state] = (counts[change.index.state] ?? 0) + 2;
          return isWritten;
        },
        count: async () => counts,
      }));
    })(),
    found: COUNTED,
    says: 'count returned 6 keys in state unknown, and none is',
  },
  {
    what: 'lists more than was asked for',
    open: replacing(({ list }) => ({ list: (query) => list({ ...query, limit: 1_000 }) })),
    found: LISTED,
    says: 'list returned 3 records, and its limit was 2',
  },
  {
    what: 'lists another version than the record has',
    open: replacing(({ list }) => ({
      list: async (query) => (await list(query)).map((record) => ({ ...record, version: 'another' })),
    })),
    found: LISTED,
    says: 'list returned another version or text than read',
  },
  {
    what: 'keeps the time of creation in 32 bits',
    open: deciding({ indexOf: ({ index }) => index && { ...index, createdAt: index.createdAt | 0 } }),
    found: LISTED,
    says: 'list returned another createdAt',
  },
  {
    what: 'counts once for all',
    open: (() => {
      const first = new Map<object, Record<string, number>>();
      return replacing(({ count }, records) => ({
        async count() {
          const counts = first.get(records) ?? (await count());
          first.set(records, counts);
          return counts;
        },
      }));
    })(),
    found: COUNTED,
    says: 'count returned keys in another state than they are',
  },
  {
    what: 'makes all due at once',
    open: deciding({ dueAtOf: ({ dueIn }) => inFuture(dueIn && 0) }),
    found: DUE,
    says: 'ms, due in 1000',
  },
  {
    what: 'makes nothing due',
    open: deciding({ dueAtOf: () => null }),
    found: DUE,
    says: 'claimDue did not return a record that is due',
  },
  {
    what: 'claims the latest first',
    open: deciding({ compareDue: (one, other) => (other.dueAt ?? 0) - (one.dueAt ?? 0) }),
    found: EARLIEST,
    says: 'claimDue returned a record before one that was due earlier',
  },
  {
    what: 'claims more than was asked for',
    open: replacing(({ claimDue }) => ({
      claimDue: ({ kind, lease }) => claimDue({ kind, limit: 1_000, lease }),
    })),
    found: SHARED,
    says: 'claimDue returned 10 records, and its limit was 3',
  },
  {
    what: 'returns what is due, and claims it later',
    open: replacing((_store, records) => ({
      async claimDue(claim) {
        await pause(1);
        return createFaultyStore(records, { meanwhile: () => pause(1) }).claimDue(claim);
      },
    })),
    found: SHARED,
    says: 'times within its lease',
  },
  {
    what: 'returns what is due without a claim',
    open: deciding({ claimed: () => ({}) }),
    found: SHARED,
    says: 'times within its lease',
  },
  {
    what: 'keeps a claim for half of its lease',
    open: deciding({ claimed: (_, lease) => ({ dueAt: inFuture(lease / 2) }) }),
    found: SHARED,
    says: 'ms, claimed for 300',
  },
  {
    what: 'returns what is due of each kind',
    open: replacing(({ claimDue }) => ({
      async claimDue(claim) {
        const both = (['key', 'order'] as const).map((kind) => claimDue({ ...claim, kind }));
        return (await Promise.all(both)).flat();
      },
    })),
    found: KIND,
    says: 'for what is due of the kind key',
  },
  {
    what: 'counts what is due of each kind',
    open: replacing(({ countDue }) => ({
      async countDue() {
        const [one, other] = await Promise.all([countDue({ kind: 'key' }), countDue({ kind: 'order' })]);
        return { ...one, due: one.due + other.due };
      },
    })),
    found: KIND,
    says: 'countDue returned 2',
  },
  {
    what: 'deletes a record of any version',
    open: replacing((store) => ({
      async delete(unneeded) {
        const found = await Promise.all(
          unneeded.map(async ({ key }) => ({ key, ...(await store.read(key)) })),
        );
        return store.delete(found.flatMap(({ key, version }) => (version ? [{ key, version }] : [])));
      },
    })),
    found: DELETED,
    says: 'delete returned 3, and two records had their version',
  },
  {
    what: 'deletes nothing',
    open: replacing(() => ({ delete: async () => 2 })),
    found: DELETED,
    says: 'a deleted record can be read',
  },
  {
    what: 'deletes the first record of many',
    open: replacing((store) => ({
      async delete(unneeded) {
        for (const record of unneeded) if ((await store.delete([record])) === 1) return 1;
        return 0;
      },
    })),
    found: DELETED,
    says: 'delete returned 1, and two records had their version',
  },
  {
    what: 'returns the text of another record',
    open: replacing(({ claimDue }, records) => ({
      async claimDue(claim) {
        const [text = ''] = [...records.values()].map((entry) => `${entry.text} `);
        return (await claimDue(claim)).map((record) => ({ ...record, text }));
      },
    })),
    found: UNCHANGED,
    says: 'claimDue returned another version or text than the record has',
  },
  {
    what: 'returns what is due as new',
    open: replacing(({ claimDue }) => ({
      claimDue: async (claim) => (await claimDue(claim)).map((record) => ({ ...record, age: 0 })),
    })),
    found: UNCHANGED,
    says: 'claimDue returned another age than the record has',
  },
  {
    what: 'returns what is due without its time',
    open: replacing(({ claimDue }) => ({
      claimDue: async (claim) => (await claimDue(claim)).map((record) => ({ ...record, createdAt: 0 })),
    })),
    found: UNCHANGED,
    says: 'claimDue returned another createdAt than was written',
  },
  {
    what: 'gives all writes of a group the due time of the first',
    open: replacing(({ write }) => ({
      writeAll: (writes) =>
        Promise.all(
          writes.map(({ key, change }) => write(key, { ...change, dueIn: writes[0]?.change.dueIn ?? null })),
        ),
    })),
    found: COUNTED_DUE,
    says: 'countDue returned 13, but 10 keys are due',
  },
  {
    what: 'makes nothing due that was written in a group',
    open: replacing(({ write }) => ({
      writeAll: (writes) =>
        Promise.all(writes.map(({ key, change }) => write(key, { ...change, dueIn: null }))),
    })),
    found: COUNTED_DUE,
    says: 'countDue returned 0, but 10 keys are due',
  },
  {
    what: 'tells when the last is due',
    open: replacing(({ countDue }, records) => ({
      async countDue(query) {
        const counted = await countDue(query);
        const times = [...records.values()].map(({ dueAt }) => (dueAt ?? 0) - performance.now());
        return { ...counted, nextIn: counted.nextIn && Math.max(...times) };
      },
    })),
    found: COUNTED_DUE,
    says: 'countDue returned that the next is due in 120000 ms',
  },
  {
    what: 'says that the next is due now when there is none',
    open: replacing(({ countDue }) => ({
      async countDue(query) {
        const { due, nextIn } = await countDue(query);
        return { due, nextIn: nextIn ?? 0 };
      },
    })),
    found: COUNTED_DUE,
    says: 'countDue returned that a key is due, and there is none',
  },
  {
    what: 'never returns again what was claimed',
    open: deciding({ claimed: () => ({ dueAt: null }) }),
    found: SHARED,
    says: 'claimDue never returned a record that is due: the lease of its claim has ended',
  },
  {
    what: 'gives a record that it claims another version',
    open: deciding({
      claimed: (_, lease) => ({ dueAt: inFuture(lease), version: crypto.randomUUID() }),
    }),
    found: UNCHANGED,
    says: 'claimDue changed the version of a record',
  },
  {
    what: 'writes a record that it claims anew',
    open: deciding({
      claimed: (_, lease) => ({ dueAt: inFuture(lease), writtenAt: performance.now() }),
    }),
    found: UNCHANGED,
    says: 'claimDue changed the age of a record',
  },
  {
    what: 'leaves a record due that was moved',
    open: deciding({
      dueAtOf: ({ dueIn, mustCommit }, before) => (mustCommit ? inFuture(dueIn) : (before?.dueAt ?? null)),
    }),
    found: NEXT_STEP,
    says: 'claimDue returned a record that is due later',
  },
  {
    what: 'leaves a record due that is never due again',
    open: deciding({ dueAtOf: ({ dueIn }) => inFuture(dueIn ?? 0) }),
    found: NEXT_STEP,
    says: 'claimDue returned a record that is never due',
  },
  {
    what: 'keeps a record due that is never due again',
    open: deciding({
      dueAtOf: ({ dueIn }, before) => (dueIn === null ? (before?.dueAt ?? null) : inFuture(dueIn)),
    }),
    found: NEXT_STEP,
    says: 'claimDue returned a record that is never due',
  },
  {
    what: 'counts nothing as due',
    open: replacing(() => ({ countDue: async () => ({ due: 0, nextIn: null }) })),
    found: COUNTED_DUE,
    says: 'countDue returned 0, but 10 keys are due',
  },
  {
    what: 'does not tell when the next is due',
    open: replacing(({ countDue }) => ({
      countDue: async (query) => ({ ...(await countDue(query)), nextIn: null }),
    })),
    found: COUNTED_DUE,
    says: 'countDue returned that the next is due in null ms',
  },
  {
    what: 'counts what is claimed as due',
    open: replacing(({ countDue }, records) => ({
      async countDue(query) {
        const own = [...records.values()].filter(({ index }) => index?.kind === query.kind);
        const due = own.filter(({ dueAt }) => dueAt !== null).length;
        return { ...(await countDue(query)), due };
      },
    })),
    found: COUNTED_DUE,
    says: 'countDue returned 12, but 10 keys are due',
  },
  {
    what: 'claims what it counts',
    open: replacing(({ countDue, claimDue }) => ({
      async countDue(query) {
        const counted = await countDue(query);
        await claimDue({ ...query, limit: 1_000, lease: 60_000 });
        return counted;
      },
    })),
    found: COUNTED_DUE,
    says: 'countDue claimed what it counted',
  },
];
