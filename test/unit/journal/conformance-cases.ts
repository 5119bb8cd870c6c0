import { expect } from 'vitest';
import { createJournal, type JournalStore } from '../../../src/journal/index.ts';
import { journalConformance, type OpenJournal } from '../../../src/testing/index.ts';
import { type Decisions, type Kept, looseStore } from '../../helpers/loose-store.ts';

/** Every handle is one on the same records. */
export const shared = (storeOn: (records: Map<string, Kept>) => JournalStore): OpenJournal => {
  const records = new Map<string, Kept>();
  return (options) => createJournal(storeOn(records), options);
};
export const deciding = (wrong: Partial<Decisions>): OpenJournal =>
  shared((records) => looseStore(records, wrong));
export const pause = (milliseconds: number) =>
  new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

export const caseNamed = (name: string, open: OpenJournal) => {
  const found = journalConformance(open).filter((one) => one.name === name);
  expect(found).toHaveLength(1);
  return found[0]?.run() ?? Promise.reject(new Error('no case'));
};

export const BEGUN = 'a key that was never used is begun, and every handle sees what';
export const ONE = 'of many that begin at once over several handles, one gets the claim';
export const RENEWED = 'a charge whose process is heard of is in progress, and each renewal shows';
export const COUNTS = 'a renewal counts from when it was made';
export const DIES = 'a process that dies after it began leaves its charge in doubt, for good';
export const RENEWED_AND_DIES = 'a process that dies after it renewed leaves its charge in doubt';
export const DURING =
  'a process that dies while it renews or records the end never lets the charge be sent again';
export const CONFLICT = 'other input is a conflict while a charge may exist';
export const SERVICE = 'another service or mode than the first is refused, and not recorded';
export const ANSWER = 'a result is recorded, and is the answer to every handle';
export const OUTLIVES = 'what was recorded outlives every handle';
export const UNKNOWN = 'an unknown outcome keeps its reference, and is never begun again';
export const AGAIN = 'what was not sent, or was rejected, may be begun again, by one';
export const LATE = 'an end that comes late counts where nobody had settled the charge';
export const SETTLED = 'a claim that was settled by somebody else can neither be renewed nor ended';
export const PASSED = 'a claim that passed to somebody else can neither be renewed nor ended';
export const RACE = 'of an end and a resolution at once, one counts';
export const FOUND = 'a charge that was found is the answer from then on';
export const CHECKOUT = 'a payment by checkout page is settled with its checkout_url';
export const FREED = 'a charge that was not made frees its key, for one, with any input';
export const NOT_YET = 'a charge in progress cannot be settled yet';
export const NOTHING = 'a key of which nothing is recorded cannot be settled';
export const OTHERWISE = 'an answer that is recorded cannot be settled otherwise';
export const MANY = 'of many that settle a key at once, each otherwise, one counts';
export const KEYS = 'each key has a record of its own, whatever it is spelt like';
export const RESULT = 'a result comes back as it was, whatever is in it';
export const NEVER = 'a record in doubt is never dropped, whatever the retention';

/** A store or journal that breaks a promise, and the case that finds it. */
export interface Wrong {
  what: string;
  open: OpenJournal;
  found: string;
  says: string;
}
