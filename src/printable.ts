/** Also an error of another realm: a runtime's own fetch throws those into the sandbox of Jest. */
export const isError = (value: unknown): value is Error =>
  value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';

/** What was thrown, but for a proxy or the like that throws itself as soon as it is looked at. */
export function ensureInspectable(thrown: unknown): unknown {
  try {
    isError(thrown);
    return thrown;
  } catch {
    return new Error('something that cannot be looked at');
  }
}

/** A copy of what a runtime threw, with only what may be printed: some of them carry whole requests. */
export function sanitizeError(thrown: unknown, redact: (text: string) => string, depth = 0): Error {
  try {
    return sanitizedCopy(thrown, redact, depth);
  } catch {
    return new Error('something that cannot be shown');
  }
}

function sanitizedCopy(thrown: unknown, redact: (text: string) => string, depth: number): Error {
  const fault: { name?: unknown; message?: unknown; code?: unknown; cause?: unknown } = isError(thrown)
    ? thrown
    : { message: thrown };
  const clean = (value: unknown) => truncate(redact(stringify(value).slice(0, LONGEST_TEXT)));
  const inner =
    isError(fault.cause) && depth < 5 ? { cause: sanitizeError(fault.cause, redact, depth + 1) } : {};
  const code = fault.code === undefined ? {} : { code: clean(fault.code) };
  const copy = Object.assign(new Error(clean(fault.message), inner), code);
  copy.name = clean(fault.name ?? 'Error');
  copy.stack = `${copy.name}: ${copy.message}`;
  return copy;
}

const LONGEST_TEXT = 4_000;
const LONGEST_SHOWN = 2_000;

/** By half of what was read: what was cut in two at its end is not shown. */
const truncate = (text: string) => (text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text);

function stringify(value: unknown): string {
  try {
    return String(value);
  } catch {
    return 'something that cannot be written as text';
  }
}
