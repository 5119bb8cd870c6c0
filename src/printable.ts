/** Also an error of another realm: a runtime's own fetch throws those into the sandbox of Jest. */
export const isError = (value: unknown): value is Error =>
  value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';

/** A copy of what a runtime threw, with only what may be printed: some of them carry whole requests. */
export function printable(thrown: unknown, redact: (text: string) => string, depth = 0): Error {
  const fault: { name?: unknown; message?: unknown; code?: unknown; cause?: unknown } = isError(thrown)
    ? thrown
    : { message: thrown };
  const clean = (value: unknown) => redact(asText(value));
  const inner = isError(fault.cause) && depth < 5 ? { cause: printable(fault.cause, redact, depth + 1) } : {};
  const code = fault.code === undefined ? {} : { code: clean(fault.code) };
  const copy = Object.assign(new Error(clean(fault.message), inner), code);
  copy.name = clean(fault.name ?? 'Error');
  copy.stack = `${copy.name}: ${copy.message}`;
  return copy;
}

function asText(value: unknown): string {
  try {
    return String(value);
  } catch {
    return 'something that cannot be written as text';
  }
}
