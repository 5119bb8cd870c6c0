import { referenceSchema } from 'payment-collection-client';
import type { JournalEntry, Resolution } from 'payment-collection-client/journal';
import { readText } from './read-text.ts';

/** What a person typed into one of the two forms. The person is never a field: see the session. */
export interface ResolveForm {
  readonly key: string;
  /** How many resolutions the person saw. */
  readonly seen: string;
  readonly resolution: string;
  readonly reference: string;
  readonly checkout_url: string;
  readonly amount: string;
  /** `yes` if the person has confirmed that the process ended. */
  readonly ended: string;
  readonly reason: string;
}

export function readForm(body: unknown): ResolveForm {
  const read = (name: keyof ResolveForm) => readText(body, name).trim();
  return {
    // A key can begin with a space.
    key: readText(body, 'key'),
    seen: read('seen'),
    resolution: read('resolution'),
    reference: read('reference'),
    checkout_url: read('checkout_url'),
    amount: read('amount'),
    ended: read('ended'),
    reason: read('reason'),
  };
}

/** Returns the resolution, or what the person has to correct. */
export function parseForm(form: ResolveForm, entry: JournalEntry): Resolution | { problem: string } {
  if (!/^\d+$/.test(form.seen)) return { problem: 'The form is not complete. Open the page again.' };
  if (form.reason === '') return { problem: 'Write what you found, and where. It is kept for ever.' };
  if (form.reason.length > 1_000) return { problem: 'The reason can have 1,000 characters.' };
  return form.resolution === 'not_charged' ? parseNotCharged(form, entry) : parseCharged(form, entry);
}

function parseNotCharged(
  { amount, ended }: ResolveForm,
  entry: JournalEntry,
): Resolution | { problem: string } {
  if (ended !== 'yes') {
    return {
      problem: 'First confirm that the process of this charge has ended. It could still send the request.',
    };
  }
  if (amount === entry.amount) return 'not_charged';
  return { problem: `Type the amount of this key as it is shown: ${entry.amount}.` };
}

function parseCharged(form: ResolveForm, { operation }: JournalEntry): Resolution | { problem: string } {
  const { reference, checkout_url } = form;
  if (!referenceSchema.safeParse(reference).success) {
    return { problem: 'Copy the reference from the records of the service. It begins with TXN-.' };
  }
  if (operation === 'chargeMobileMoney') return { reference };
  if (URL.canParse(checkout_url)) return { reference, checkout_url };
  return { problem: 'This payment has a checkout page: copy its address too, or resolve it as not charged.' };
}
