import type { PaymentsClient } from 'payment-collection-client';
import type { Journal, JournalEntry } from 'payment-collection-client/journal';
import { describeResolution } from './describe-entry.ts';
import { type Explanation, explainError } from './explain-error.ts';
import { parseForm, type ResolveForm } from './resolve-form.ts';

/** What became of a form. */
export type ResolveResult =
  | { readonly state: 'resolved' }
  | { readonly state: 'not_found' }
  | {
      readonly state: 'refused';
      readonly status: 409 | 422 | 503;
      readonly text: string;
      readonly entry: JournalEntry;
      /** Another key that has the reference. */
      readonly otherKey?: string | undefined;
    };

/** Resolves a key as a person decided. */
export async function resolve(
  { payments, journal }: { payments: PaymentsClient; journal: Journal },
  form: ResolveForm,
  person: string,
): Promise<ResolveResult> {
  const { key, reason } = form;
  const before = await journal.read(key);
  if (!before) return { state: 'not_found' };
  const resolution = parseForm(form, before);
  if (typeof resolution === 'object' && 'problem' in resolution) {
    return refuse(before, { status: 422, text: resolution.problem });
  }
  // Of two persons at once, the second one sees what the first one did.
  const resolutionsSeen = Number(form.seen);
  try {
    const entry = await payments.resolve(key, resolution, { by: person, reason, resolutionsSeen });
    // Another person might have recorded the same.
    return entry.resolutions.at(-1)?.by === person
      ? { state: 'resolved' }
      : refuse(entry, describeOther(entry));
  } catch (error) {
    const entry = (await journal.read(key).catch(() => null)) ?? before;
    if (entry.resolutions.length > resolutionsSeen) return refuse(entry, describeOther(entry));
    return refuse(entry, explainError(error, entry), await findOtherKey(journal, form));
  }
}

const UNCHANGED = 'Nothing was changed.';

function refuse(entry: JournalEntry, { status, text }: Explanation, otherKey?: string): ResolveResult {
  const full = text.includes(UNCHANGED) ? text : `${text} ${UNCHANGED}`;
  return { state: 'refused', status, text: full, entry, otherKey };
}

function describeOther({ resolutions }: JournalEntry): Explanation {
  const last = resolutions.at(-1);
  const what = last ? `by ${last.by} (${describeResolution(last)})` : '';
  return { status: 409, text: `Already resolved ${what}. If that is wrong, resolve the key again.` };
}

/** One payment cannot pay for two orders. */
async function findOtherKey(journal: Journal, { reference, key }: ResolveForm): Promise<string | undefined> {
  if (reference === '') return undefined;
  try {
    for await (const entry of journal.list({ reference, limit: 2 })) if (entry.key !== key) return entry.key;
  } catch {
    // The page says why the key was not resolved all the same.
  }
  return undefined;
}
