import type { Entry } from './ledger.ts';
import type { HttpRejection } from './validate-request.ts';

/** A 2xx answer: the envelope of SPEC.md, 2. */
export interface SuccessBody {
  readonly status: true;
  readonly message?: string;
  readonly data: Readonly<Record<string, string | null>> & { readonly reference: string };
}

/** SPEC.md, 4.1. */
export function initializeBody({ reference, amount, currency }: Entry, checkoutBase: string): SuccessBody {
  const checkout_url = `${checkoutBase}/checkout/${reference}`;
  return { status: true, data: { reference, checkout_url, amount, currency } };
}

/** SPEC.md, 4.2. */
export function chargeBody({ reference, amount, currency }: Entry): SuccessBody {
  return {
    status: true,
    message: "A prompt has been sent to the customer's phone.",
    data: { reference, status: 'processing', amount, currency },
  };
}

/** SPEC.md, 4.3. */
export function verifyBody(entry: Entry): SuccessBody {
  return { status: true, data: toTransaction(entry) };
}

/** A transaction as verify reports it. The `paid_at` of one that is not paid is not shown: `null` is an assumption. */
export function toTransaction(entry: Entry) {
  const { reference, status, amount, currency, customer_email, changedAt } = entry;
  const paid_at = status === 'success' ? withOffset(changedAt) : null;
  return { reference, status, amount, currency, customer_email, paid_at };
}

function withOffset(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19)}+00:00`;
}

export function errorResponse({ status, message, fields, headers }: HttpRejection): Response {
  const errors = fields.length > 0 ? { errors: fields } : {};
  return Response.json({ status: false, message, ...errors }, { status, headers: { ...headers } });
}
