/** What a person sends, and what comes of it. */

import { isSameAmount } from '../../api/money.ts';
import { PaymentsError } from '../../errors.ts';
import type { JournalEntry } from '../../journal/journal.ts';
import type { Resolution } from '../../journal/resolution.ts';
import type { Offer } from '../../ledger/resolve.ts';
import { OFFERS } from '../words.ts';
import { describeReadError, type Sources } from './read.ts';

/** What was refused, with what the person typed. */
export interface Refused {
  readonly name: string;
  readonly offer: string;
  readonly message: string;
  readonly reason: string;
  readonly reference: string;
  readonly status: number;
}

/** Records a decision, and returns the entry of its payment then. */
export async function decide(
  sources: Sources,
  form: URLSearchParams,
  by: string,
): Promise<{ readonly entry: JournalEntry } | Refused> {
  const get = (name: string) => form.get(name)?.trim() ?? '';
  // The name of a payment is exact: a space at its end can make it that of another order.
  const name = form.get('payment') ?? '';
  const [offer, reason, reference] = [get('offer'), get('reason'), get('reference')];
  const refuse = (message: string, status = 422) => ({ name, offer, message, reason, reference, status });
  const { payments, journal } = sources;
  try {
    if (!isOffer(offer)) return refuse('Choose one of the decisions. Nothing was changed.');
    if (reason === '') return refuse('Write down what you found out. Nothing was changed.');
    const shown = offer === 'not_charged' ? await journal.read(name) : undefined;
    if (shown && !isConfirmed(shown, get('amount')))
      return refuse(`The amount is ${shown.amount}: type it to confirm. Nothing was changed.`);
    const resolution = toResolution(offer, reference, get('checkout_url'));
    const revision = form.get('revision') ?? undefined;
    return { entry: await payments.resolve(name, resolution, { by, reason, revision }) };
  } catch (error) {
    return refuse(explainDecisionError(error), error instanceof PaymentsError && error.retryable ? 503 : 409);
  }
}

const isOffer = (text: string): text is Offer => Object.hasOwn(OFFERS, text);

const isConfirmed = ({ amount }: JournalEntry, typed: string) =>
  /^\d+(?:\.\d+)?$/.test(typed) && isSameAmount(typed, amount);

function toResolution(offer: Offer, reference: string, checkoutUrl: string): Resolution {
  if (offer !== 'reference') return offer;
  return { reference, ...(checkoutUrl !== '' && { checkout_url: checkoutUrl }) };
}

/** Returns what an error says, and whether something was changed. */
function explainDecisionError(error: unknown): string {
  const message = describeReadError(error);
  if (message.includes('Nothing was changed')) return message;
  const { code, nextStep, retryable }: Partial<PaymentsError> = error instanceof PaymentsError ? error : {};
  if (code === 'journal_error' && retryable)
    return `${message} It might have been recorded: read the payment below before you decide again.`;
  if (nextStep === 'check')
    return `The service could not be asked, and nothing was changed. Try again later. ${message}`;
  return `${message} Nothing was changed.`;
}
