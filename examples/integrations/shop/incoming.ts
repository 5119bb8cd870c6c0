/** What the customer typed; what is wrong with it, the client's own check says. */
export function emailIn(form: unknown): string {
  return textIn(form, 'customer_email');
}

export function orderIdIn(form: unknown): string {
  return textIn(form, 'order');
}

function textIn(form: unknown, name: string): string {
  const value: unknown = Object(form)[name];
  return typeof value === 'string' ? value : '';
}

/**
 * What a webhook may be about. Its payload and its signing are not shown, so anything that looks like a reference will
 * do: it is only a hint to ask the service now, and what nobody waits for costs nothing.
 */
export function referencesIn(payload: unknown): string[] {
  const found = typeof payload === 'string' ? payload.match(/TXN-[\w.-]{1,251}/g) : null;
  return [...new Set(found)].slice(0, 10);
}
