import { describe, expect, test } from 'vitest';
import { createJournal, type Journal, type JournalStore } from '../../src/journal/index.ts';
import { journalConformance, type OpenJournal } from '../../src/testing/index.ts';
import { type Decisions, type Kept, looseStore } from '../support/loose-store.ts';

/** Every handle is one on the same records. */
const shared = (storeOn: (records: Map<string, Kept>) => JournalStore): OpenJournal => {
  const records = new Map<string, Kept>();
  return (options) => createJournal(storeOn(records), options);
};
const deciding = (wrong: Partial<Decisions>): OpenJournal => shared((records) => looseStore(records, wrong));
const pause = (milliseconds: number) => new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

const caseNamed = (name: string, open: OpenJournal) => {
  const found = journalConformance(open).filter((one) => one.name === name);
  expect(found).toHaveLength(1);
  return found[0]?.run() ?? Promise.reject(new Error('no case'));
};

const BEGUN = 'a key that was never used is begun, and every handle sees what';
const ONE = 'of many that begin at once over several handles, one gets the claim';
const RENEWED = 'a charge whose process is heard of is in progress, and each renewal shows';
const COUNTS = 'a renewal counts from when it was made';
const DIES = 'a process that dies after it began leaves its charge in doubt, for good';
const RENEWED_AND_DIES = 'a process that dies after it renewed leaves its charge in doubt';
const DURING = 'a process that dies while it renews or records the end never lets the charge be sent again';
const CONFLICT = 'other input under the same key is a conflict';
const ANSWER = 'a result is recorded, and is the answer to every handle';
const OUTLIVES = 'what was recorded outlives every handle';
const UNKNOWN = 'an unknown outcome keeps its reference, and is never begun again';
const AGAIN = 'what was not sent, or was rejected, may be begun again, by one';
const LATE = 'an end that comes late counts where nobody had settled the charge';
const SETTLED = 'a claim that was settled by somebody else can neither be renewed nor ended';
const PASSED = 'a claim that passed to somebody else can neither be renewed nor ended';
const RACE = 'of an end and a resolution at once, one counts';
const FOUND = 'a charge that was found is the answer from then on';
const CHECKOUT = 'a payment by checkout page is settled with its checkout_url';
const FREED = 'a charge that was not made frees its key, for one, with any input';
const NOT_YET = 'a charge in progress cannot be settled yet';
const NOTHING = 'a key of which nothing is recorded cannot be settled';
const OTHERWISE = 'an answer that is recorded cannot be settled otherwise';
const MANY = 'of many that settle a key at once, each otherwise, one counts';
const KEYS = 'each key has a record of its own, whatever it is spelt like';
const RESULT = 'a result comes back as it was, whatever is in it';
const NEVER = 'a record in doubt is never dropped, whatever the retention';

describe('a right store', () => {
  test.concurrent.each(journalConformance(deciding({})))('$name', ({ run }) => run());

  const slow = deciding({
    ageOf: ({ writtenAt }) => Math.floor((performance.now() - writtenAt) / 1000) * 1000,
  });
  test.concurrent.each([DIES, LATE])('may have a clock of whole seconds: %s', (name) =>
    caseNamed(name, slow),
  );
});

interface Wrong {
  what: string;
  open: OpenJournal;
  found: string;
  says: string;
}

const wrongStores: Wrong[] = [
  {
    what: 'writes whatever was expected',
    open: deciding({ fits: () => true }),
    found: ONE,
    says: '12 of 12 that began at once got the claim',
  },
  {
    what: 'looks, and writes later',
    open: deciding({ meanwhile: () => pause(1) }),
    found: ONE,
    says: '12 of 12 that began at once got the claim',
  },
  {
    what: 'says that it wrote what it did not',
    open: deciding({ answer: () => true }),
    found: ONE,
    says: '12 of 12 that began at once got the claim',
  },
  {
    what: 'writes over a record where none was expected',
    open: deciding({
      fits: (found, { expected }) => expected === null || found?.version === expected,
    }),
    found: DIES,
    says: 'could be sent once more',
  },
  {
    what: 'replaces any version where one was expected',
    open: deciding({ fits: (found, { expected }) => (found === undefined) === (expected === null) }),
    found: RACE,
    says: 'both were told that theirs counts',
  },
  {
    what: 'looks, and replaces later',
    open: deciding({ meanwhile: () => pause(1) }),
    found: AGAIN,
    says: 'of 12 that began what was not_sent got the claim',
  },
  {
    what: 'lets many settle',
    open: deciding({ fits: (found, { expected }) => (found === undefined) === (expected === null) }),
    found: MANY,
    says: '8 that said otherwise were told that theirs counts',
  },
  {
    what: 'lets a lost claim change the record',
    open: deciding({ fits: (found, { expected }) => (found === undefined) === (expected === null) }),
    found: PASSED,
    says: 'though somebody else had begun the key',
  },
  {
    what: 'lets a claim that was settled change the record',
    open: deciding({ fits: (found, { expected }) => (found === undefined) === (expected === null) }),
    found: SETTLED,
    says: 'though the charge had been settled',
  },
  {
    what: 'frees a key while it is written',
    open: shared((records) => ({
      ...looseStore(records),
      async write(key, change) {
        const found = records.get(key);
        if ((found?.version ?? null) !== change.expected) return false;
        records.delete(key);
        await pause(50);
        return looseStore(records, { fits: () => true }).write(key, change);
      },
    })),
    found: DURING,
    says: 'begin gave begun while it was renewed',
  },
  {
    what: 'keeps its records in the handle',
    open: (options) => createJournal(looseStore(new Map()), options),
    found: BEGUN,
    says: 'a handle does not see what was begun',
  },
  {
    what: 'keeps its answers in the handle',
    open: shared((records) => {
      const store = looseStore(records);
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
    found: LATE,
    says: 'the key is in_progress instead of unknown, long after the lease',
  },
  {
    what: 'answers before it wrote',
    open: shared((records) => ({
      ...looseStore(records),
      async write(key, change) {
        setTimeout(() => looseStore(records).write(key, change), 100);
        return (records.get(key)?.version ?? null) === change.expected;
      },
    })),
    found: BEGUN,
    says: 'a handle does not see what was begun',
  },
  {
    what: 'forgets when it is closed',
    open: (() => {
      const records = new Map<string, Kept>();
      return (options) => ({
        journal: createJournal(looseStore(records), options),
        close: () => records.clear(),
      });
    })(),
    found: OUTLIVES,
    says: 'begin gave begun instead of completed',
  },
  {
    what: 'has no age',
    open: deciding({ ageOf: () => 0 }),
    found: DIES,
    says: 'the key is in_progress instead of unknown, long after the lease',
  },
  {
    what: 'tells the age in seconds',
    open: deciding({ ageOf: ({ writtenAt }) => (performance.now() - writtenAt) / 1000 }),
    found: RENEWED_AND_DIES,
    says: 'the key is in_progress instead of unknown, long after the lease',
  },
  {
    what: 'tells the age in microseconds',
    open: deciding({ ageOf: ({ writtenAt }) => (performance.now() - writtenAt + 1) * 1000 }),
    found: COUNTS,
    says: 'within the lease, the charge counts as left',
  },
  {
    what: 'tells the age since the first write',
    open: deciding({
      kept: ({ version, text }, before) => ({
        version,
        text,
        writtenAt: before?.writtenAt ?? performance.now(),
        droppedAt: null,
      }),
    }),
    found: COUNTS,
    says: 'within the lease, the charge counts as left',
  },
  {
    what: 'leaves the version where the text is the same',
    open: deciding({
      kept: ({ version, text }, before) => ({
        version: before?.text === text ? before.version : version,
        text,
        writtenAt: performance.now(),
        droppedAt: null,
      }),
    }),
    found: RENEWED,
    says: 'a renewal left the version as it was',
  },
  {
    what: 'drops what has no end to its keeping',
    open: deciding({
      kept: ({ version, text, keepFor }) => ({
        version,
        text,
        writtenAt: performance.now(),
        droppedAt: performance.now() + (keepFor ?? 300),
      }),
    }),
    found: NEVER,
    says: 'begin gave begun instead of unknown',
  },
  {
    what: 'drops at the first date it was given',
    open: deciding({
      kept: ({ version, text, keepFor }, before) => ({
        version,
        text,
        writtenAt: performance.now(),
        droppedAt: before?.droppedAt ?? (keepFor === null ? null : performance.now() + keepFor),
      }),
    }),
    found: NEVER,
    says: 'begin gave begun instead of unknown: it was begun again',
  },
  {
    what: 'folds the case of keys',
    open: deciding({ keyOf: (key) => key.toLowerCase() }),
    found: KEYS,
    says: ':Order"',
  },
  {
    what: 'takes the spaces off keys',
    open: deciding({ keyOf: (key) => key.trim() }),
    found: KEYS,
    says: ':order "',
  },
  {
    what: 'normalises keys',
    open: deciding({ keyOf: (key) => key.normalize() }),
    found: KEYS,
    says: 'cafe\u0301"',
  },
  {
    what: 'cuts keys short',
    open: deciding({ keyOf: (key) => key.slice(0, 191) }),
    found: KEYS,
    says: 'xy"',
  },
  {
    what: 'keeps keys in one byte a character',
    open: deciding({ keyOf: (key) => key.replace(/[^ -~]/g, '?') }),
    found: KEYS,
    says: '\u{1f4b4}"',
  },
  {
    what: 'keeps text in one byte a character',
    open: deciding({
      kept: ({ version, text }) => ({
        version,
        text: text.replace(/[^ -~]/g, '?'),
        writtenAt: performance.now(),
        droppedAt: null,
      }),
    }),
    found: RESULT,
    says: 'came back with another unicode, control',
  },
  {
    what: 'cannot keep a NUL',
    open: shared((records) => ({
      ...looseStore(records),
      async write(key, change) {
        if (change.text.includes(String.raw`\u0000`)) throw new Error('unsupported Unicode escape sequence');
        return looseStore(records).write(key, change);
      },
    })),
    found: RESULT,
    says: 'unsupported Unicode escape sequence',
  },
];

describe('a store that is wrong is found', () => {
  test.concurrent.each(wrongStores)('$what: $found', async ({ open, found, says }) => {
    await expect(caseNamed(found, open)).rejects.toThrow(says);
  });
});

/** A journal that is not made by createJournal, or not well. */
const changed = (change: (journal: Journal) => Partial<Journal>): OpenJournal => {
  const records = new Map<string, Kept>();
  return (options) => {
    const journal = createJournal(looseStore(records), options);
    return { ...journal, ...change(journal) };
  };
};

const wrongJournals: Wrong[] = [
  {
    what: 'takes any input',
    open: changed(({ begin }) => ({
      begin: (key, attempt) => begin(key, { ...attempt, fingerprint: 'any' }),
    })),
    found: CONFLICT,
    says: 'instead of conflict',
  },
  {
    what: 'forgets the result',
    open: changed(({ end }) => ({
      end: (claim, { state }) =>
        end(claim, state === 'completed' ? { state, result: { reference: '' } } : { state }),
    })),
    found: ANSWER,
    says: 'the recorded reference is ',
  },
  {
    what: 'forgets the reference of what is unknown',
    open: changed(({ end }) => ({
      end: (claim, ending) => end(claim, ending.state === 'unknown' ? { state: 'unknown' } : ending),
    })),
    found: UNKNOWN,
    says: 'the reference came back as undefined',
  },
  {
    what: 'settles nothing',
    open: changed(() => ({ resolve: async () => {} })),
    found: FOUND,
    says: 'begin gave unknown instead of completed',
  },
  {
    what: 'forgets the checkout_url',
    open: changed(({ resolve }) => ({
      resolve: (key, resolution) =>
        resolve(
          key,
          resolution === 'not_charged' ? resolution : { ...resolution, checkout_url: 'https://pay.example/' },
        ),
    })),
    found: CHECKOUT,
    says: 'the settled checkout_url is https://pay.example/',
  },
  {
    what: 'frees a key for nobody',
    open: changed(({ resolve }) => ({
      resolve: (key, resolution) =>
        resolve(key, resolution === 'not_charged' ? { reference: 'TXN-none' } : resolution),
    })),
    found: FREED,
    says: '0 of 12 that began a key that was freed got the claim',
  },
  {
    what: 'settles what is in progress',
    open: changed(({ resolve }) => ({
      resolve: (key, resolution) => resolve(key, resolution).catch(() => {}),
    })),
    found: NOT_YET,
    says: 'resolve went through, though a process is charging',
  },
  {
    what: 'settles what is not there',
    open: changed(({ resolve }) => ({
      resolve: (key, resolution) => resolve(key, resolution).catch(() => {}),
    })),
    found: NOTHING,
    says: 'resolve went through, though nothing is recorded of the key',
  },
  {
    what: 'settles what is recorded',
    open: changed(({ resolve }) => ({
      resolve: (key, resolution) => resolve(key, resolution).catch(() => {}),
    })),
    found: OTHERWISE,
    says: 'resolve went through, though the answer of the service says otherwise',
  },
];

describe('a journal that is wrong is found', () => {
  test.concurrent.each(wrongJournals)('$what: $found', async ({ open, found, says }) => {
    await expect(caseNamed(found, open)).rejects.toThrow(says);
  });
});

test('every case finds something', () => {
  const names = new Set([...wrongStores, ...wrongJournals].map(({ found }) => found));
  expect(journalConformance(deciding({})).map(({ name }) => name)).toEqual(
    expect.arrayContaining([...names]),
  );
  expect(names.size).toBe(journalConformance(deciding({})).length);
});
