import type { Entry, KnownStatus } from './ledger.ts';
import type { HttpRejection } from './validate-request.ts';

export const JSON_TYPE = { 'content-type': 'application/json' };

/** The body of a 2xx response: docs/reference/service.md, "Response envelope". */
export interface SuccessBody {
  readonly status: true;
  readonly message?: string;
  readonly data: Readonly<Record<string, string | null>> & { readonly reference: string };
}

/** docs/reference/service.md, "Start a checkout payment". */
export function createInitializeBody(
  { reference, amount, currency }: Entry,
  checkoutBase: string,
): SuccessBody {
  const checkout_url = `${checkoutBase}/checkout/${reference}`;
  return { status: true, data: { reference, checkout_url, amount, currency } };
}

/** docs/reference/service.md, "Charge a Mobile Money number". */
export function createChargeBody({ reference, amount, currency }: Entry): SuccessBody {
  return {
    status: true,
    message: "A prompt has been sent to the customer's phone.",
    data: { reference, status: 'processing', amount, currency },
  };
}

/** docs/reference/service.md, "Read the status". */
export function createVerifyBody(entry: Entry, status: KnownStatus): SuccessBody {
  return { status: true, data: toTransactionData(entry, status) };
}

/** Returns a transaction as a verify reports it. `paid_at: null` for an unpaid one is an assumption. */
export function toTransactionData(entry: Entry, status: KnownStatus) {
  const { reference, amount, currency, customer_email, changedAt } = entry;
  const paid_at = status === 'success' ? formatWithOffset(changedAt) : null;
  return { reference, status, amount, currency, customer_email, paid_at };
}

function formatWithOffset(time: number): string {
  return `${new Date(time).toISOString().slice(0, 19)}+00:00`;
}

export function createErrorResponse({ status, message, fields, headers }: HttpRejection): Response {
  const errors = fields.length > 0 ? { errors: fields } : {};
  return Response.json({ status: false, message, ...errors }, { status, headers: { ...headers } });
}
