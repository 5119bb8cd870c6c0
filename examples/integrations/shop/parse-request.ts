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
