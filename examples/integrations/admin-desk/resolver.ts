import type { PaymentsClient } from 'payment-collection-client';
import type { Journal, JournalEntry } from 'payment-collection-client/journal';
import { describeResolution, type EntryResolution } from './describe-entry.ts';
import { explainError } from './explain-error.ts';
import { parseForm, type ResolveForm } from './resolve-form.ts';

/** What became of a form. */
export type ResolveResult =
  | { readonly state: 'resolved'; readonly entry: JournalEntry }
  | {
      readonly state: 'refused';
      readonly status: 409 | 422 | 503;
      readonly text: string;
      readonly entry: JournalEntry;
      /** Another key that has the reference. */
      readonly otherKey?: string | undefined;
    }
  | { readonly state: 'not_found' };

/** Resolves a key as a person decided. */
export type Resolve = (form: ResolveForm, person: string) => Promise<ResolveResult>;

export function createResolve(payments: PaymentsClient, journal: Journal): Resolve {
  // Of two persons at once, the second one sees what the first one did.
  const inTurn = createTurns();

  async function resolve(form: ResolveForm, person: string): Promise<ResolveResult> {
    const before = await journal.read(form.key);
    if (!before) return { state: 'not_found' };
    const refuse = (status: 409 | 422 | 503, text: string, entry = before) =>
      ({ state: 'refused', status, text: withEnd(text), entry }) as const;
    if (String(before.resolutions.length) !== form.seen) return refuse(409, describeOther(before));
    const resolution = parseForm(form, before);
    if (typeof resolution === 'object' && 'problem' in resolution) return refuse(422, resolution.problem);

    try {
      const entry = await payments.resolve(form.key, resolution, { by: person, reason: form.reason });
      const added = entry.resolutions.slice(before.resolutions.length);
      if (added.length === 0) return refuse(409, 'The key is resolved in this way already.', entry);
      // Another process of the shop can resolve the key at the same time.
      const other = added.find(({ by }) => by !== person);
      if (other) return { state: 'refused', status: 409, text: describeClash(other), entry };
      return { state: 'resolved', entry };
    } catch (error) {
      const entry = (await journal.read(form.key).catch(() => null)) ?? before;
      const { status, text } = explainError(error, entry);
      const otherKey = await findOtherKey(journal, form);
      return { ...refuse(status, text, entry), otherKey };
    }
  }

  return (form, person) => inTurn(form.key, () => resolve(form, person));
}

function describeOther(entry: JournalEntry): string {
  const last = entry.resolutions.at(-1);
  if (!last) return 'This key has changed. Look at it again.';
  return `Already resolved by ${last.by} (${describeResolution(last)}). If that is wrong, resolve the key again.`;
}

function describeClash({ by }: EntryResolution): string {
  return `${by} resolved this key at the same time. The newest entry of the history counts: talk to each other.`;
}

const UNCHANGED = 'Nothing was changed.';

const withEnd = (text: string) => (text.includes(UNCHANGED) ? text : `${text} ${UNCHANGED}`);

/** One payment cannot pay for two orders. */
async function findOtherKey(journal: Journal, { reference, key }: ResolveForm): Promise<string | undefined> {
  if (reference === '') return undefined;
  try {
    for await (const entry of journal.list({ reference, limit: 2 })) if (entry.key !== key) return entry.key;
  } catch {
    // The error of the resolution is shown already.
  }
  return undefined;
}

/** Runs what is about one key one after the other. */
function createTurns() {
  const last = new Map<string, Promise<unknown>>();
  return async <T>(key: string, run: () => Promise<T>): Promise<T> => {
    const turn = (last.get(key) ?? Promise.resolve()).then(run, run);
    last.set(key, turn);
    try {
      return await turn;
    } finally {
      if (last.get(key) === turn) last.delete(key);
    }
  };
}
