import { getJournalCore, type JournalCore } from '../../../src/journal/core.ts';
import { createJournal, type Journal } from '../../../src/journal/index.ts';
import type { OpenJournal } from '../../../src/testing/index.ts';
import { createFaultyStore } from '../../helpers/faulty-store.ts';
import { changed as changeJournal } from '../../helpers/journals.ts';
import {
  AGAIN,
  ATTEMPTS,
  CHECKOUT,
  CONFLICT,
  createStorages,
  DIES,
  FOUND,
  FREED,
  HISTORY,
  LISTED_WHOLE,
  NOT_YET,
  NOTHING,
  ORDERS_PRUNED,
  OTHERWISE,
  PRUNED,
  RECORDED,
  RESOLVED_AGAIN,
  SERVICE,
  STILL_CLAIMED,
  TAKEN,
  TAKEN_AT_ONCE,
  UNKNOWN,
  type Wrong,
} from './conformance-cases.ts';

/** Creates a journal that does not use createJournal, or uses it wrongly. */
const changed = (change: (journal: Journal & JournalCore) => Partial<Journal & JournalCore>): OpenJournal => {
  const recordsOf = createStorages();
  return (options, storage) => {
    const journal = createJournal(createFaultyStore(recordsOf(storage)), options);
    return changeJournal(journal, change({ ...journal, ...getJournalCore(journal) }));
  };
};

/** Resolves each key with a reference of its own. */
const withoutReservations = changed(({ resolve }) => ({
  resolve: (key, resolution, note) =>
    resolve(
      key,
      typeof resolution === 'string'
        ? resolution
        : { reference: `${resolution.reference}-${crypto.randomUUID()}` },
      note,
    ),
}));

export const wrongJournals: Wrong[] = [
  {
    what: 'shows a charge whose process has died as begun',
    open: changed(({ read }) => ({
      async read(key) {
        const entry = await read(key);
        return entry?.state === 'unknown' ? { ...entry, state: 'begun' } : entry;
      },
    })),
    found: DIES,
    says: 'read returned begun instead of unknown',
  },
  {
    what: 'takes any input',
    open: changed(({ claim: begin }) => ({
      claim: (key, attempt) => begin(key, { ...attempt, fingerprint: 'any' }),
    })),
    found: CONFLICT,
    says: 'instead of conflict',
  },
  {
    what: 'takes any service',
    open: changed(({ claim: begin }) => ({
      claim: (key, attempt) => begin(key, { ...attempt, service: 'any' }),
    })),
    found: SERVICE,
    says: 'instead of other_service',
  },
  {
    what: 'takes no other input once it was refused',
    open: changed(({ claim: begin, read }) => ({
      async claim(key, attempt) {
        const entry = await read(key);
        if (entry?.state === 'rejected' && entry.amount !== attempt.amount)
          return { state: 'conflict', found: { state: 'unknown' } };
        return begin(key, attempt);
      },
    })),
    found: AGAIN,
    says: 'a key that was rejected, with other input',
  },
  {
    what: 'forgets the result',
    open: changed(({ complete: end }) => ({
      complete: (claim, { state }) =>
        end(claim, state === 'completed' ? { state, result: { reference: '' } } : { state }),
    })),
    found: RECORDED,
    says: 'the recorded reference is ',
  },
  {
    what: 'forgets the reference of what is unknown',
    open: changed(({ complete: end }) => ({
      complete: (claim, ending) => end(claim, ending.state === 'unknown' ? { state: 'unknown' } : ending),
    })),
    found: UNKNOWN,
    says: 'the recorded reference is undefined',
  },
  {
    what: 'resolves nothing',
    open: changed(() => ({ resolve: async () => {} })),
    found: FOUND,
    says: 'claim returned unknown instead of completed',
  },
  {
    what: 'forgets the checkout_url',
    open: changed(({ resolve }) => ({
      resolve: (key, resolution, note) =>
        resolve(
          key,
          typeof resolution === 'string'
            ? resolution
            : { ...resolution, checkout_url: 'https://pay.example/' },
          note,
        ),
    })),
    found: CHECKOUT,
    says: 'the resolved checkout_url is https://pay.example/',
  },
  {
    what: 'frees a key for no caller',
    open: changed(({ resolve }) => ({
      resolve: (key, resolution, note) =>
        resolve(
          key,
          resolution === 'not_charged' ? { reference: `TXN-${crypto.randomUUID()}` } : resolution,
          note,
        ),
    })),
    found: FREED,
    says: '0 of 12 callers got the claim of a key that was resolved as not_charged',
  },
  {
    what: 'resolves what is in progress',
    open: changed(({ resolve }) => ({
      resolve: (...resolution) => resolve(...resolution).catch(() => {}),
    })),
    found: NOT_YET,
    says: 'resolve succeeded, although a process has the claim',
  },
  {
    what: 'resolves what is not there',
    open: changed(({ resolve }) => ({
      resolve: (...resolution) => resolve(...resolution).catch(() => {}),
    })),
    found: NOTHING,
    says: 'resolve succeeded, although the key has no record',
  },
  {
    what: 'resolves what is recorded',
    open: changed(({ resolve }) => ({
      resolve: (...resolution) => resolve(...resolution).catch(() => {}),
    })),
    found: OTHERWISE,
    says: 'resolve succeeded, although it contradicts the recorded result',
  },
  {
    what: 'forgets the request ids',
    open: changed(({ claim }) => ({
      claim: (key, intent) => claim(key, { ...intent, requestId: undefined }),
    })),
    found: ATTEMPTS,
    says: 'read returned the request ids  after 1 requests',
  },
  {
    what: 'keeps the latest resolution',
    open: changed(({ read }) => ({
      async read(key) {
        const entry = await read(key);
        return entry && { ...entry, resolutions: entry.resolutions.slice(-1) };
      },
    })),
    found: HISTORY,
    says: 'read returned 1 resolutions instead of 2',
  },
  {
    what: 'resolves a key once',
    open: changed(({ resolve, read }) => ({
      async resolve(key, ...resolution) {
        const entry = await read(key);
        if (entry && entry.resolutions.length > 0) return;
        await resolve(key, ...resolution);
      },
    })),
    found: RESOLVED_AGAIN,
    says: 'read returned the reference TXN-',
  },
  {
    what: 'takes any reference',
    open: withoutReservations,
    found: TAKEN,
    says: 'resolve succeeded, although another key was resolved with its reference',
  },
  {
    what: 'takes any reference',
    open: withoutReservations,
    found: TAKEN_AT_ONCE,
    says: '4 keys were resolved with one reference',
  },
  {
    what: 'lists a part of an entry',
    open: changed(({ list }) => ({
      async *list(query) {
        for await (const entry of list(query)) yield { ...entry, requestIds: [] };
      },
    })),
    found: LISTED_WHOLE,
    says: 'list returned another entry than read',
  },
  {
    what: 'ends a claim with each step of a follow-up',
    open: (() => {
      const followedUp = new Set<string>();
      return changed(({ followUps, renew }) => ({
        followUps: {
          ...followUps,
          update(record, ...step) {
            followedUp.add(record.key);
            return followUps.update(record, ...step);
          },
        },
        renew: async (claim) => (followedUp.has(claim.key) ? null : renew(claim)),
      }));
    })(),
    found: STILL_CLAIMED,
    says: 'renew returned null, although only a follow-up was recorded',
  },
  {
    what: 'prunes payments that are still followed up',
    open: changed(({ prune }) => ({ prune: (options) => prune({ ...options, unfollowed: true }) })),
    found: PRUNED,
    says: 'prune returned 4, and 3 keys had nothing left to do',
  },
  {
    what: 'counts the orders that it prunes instead of their payments',
    open: changed(({ prune }) => ({ prune: async (options) => (await prune(options)) / 2 })),
    found: ORDERS_PRUNED,
    says: 'prune returned 1, and 2 keys had nothing left to do',
  },
];
