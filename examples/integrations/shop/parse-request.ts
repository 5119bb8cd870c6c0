/** Reads the email as it is. The client validates it. */
export function readEmail(form: unknown): string {
  return readText(form, 'customer_email');
}

export function readOrderId(form: unknown): string {
  return readText(form, 'order');
}

function readText(form: unknown, name: string): string {
  const value: unknown = Object(form)[name];
  return typeof value === 'string' ? value : '';
}

/**
 * Finds the references in the text of a webhook. The form and the signature of webhooks are not known. A reference only
 * makes a running wait check now, and has no effect without a wait.
 */
export function findReferences(payload: unknown): string[] {
  const found = typeof payload === 'string' ? payload.match(/TXN-[\w.-]{1,251}/g) : null;
  return [...new Set(found)].slice(0, 10);
}
