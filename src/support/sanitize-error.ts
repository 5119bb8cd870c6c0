/**
 * Copies what a runtime, a database or a caller threw, with only what can be printed: some errors carry whole requests.
 * Only name, message, code and cause are read. Reading any of them can throw.
 */
export function sanitizeError(thrown: unknown, redact: (text: string) => string, depth = 0): Error {
  try {
    return copyError(thrown, redact, depth);
  } catch {
    return new Error('an error that cannot be read');
  }
}

const MAX_CAUSES = 5;

function copyError(thrown: unknown, redact: (text: string) => string, depth: number): Error {
  const source: { name?: unknown; message?: unknown; code?: unknown; cause?: unknown } = isError(thrown)
    ? thrown
    : { message: thrown };
  const sanitize = (value: unknown) => truncate(redact(stringify(value).slice(0, MAX_READ_CHARS)));
  const inner =
    isError(source.cause) && depth < MAX_CAUSES
      ? { cause: sanitizeError(source.cause, redact, depth + 1) }
      : {};
  const code = source.code === undefined ? {} : { code: sanitize(source.code) };
  const copy = Object.assign(new Error(sanitize(source.message), inner), code);
  copy.name = sanitize(source.name ?? 'Error');
  copy.stack = `${copy.name}: ${copy.message}`;
  return copy;
}

const MAX_READ_CHARS = 4_000;
/** Half of what is read: a secret that the first cut splits is never shown. */
const MAX_SHOWN_CHARS = 2_000;

function truncate(text: string): string {
  return text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text;
}

function stringify(value: unknown): string {
  try {
    return String(value);
  } catch {
    return 'a value that cannot be written as text';
  }
}

/** Returns what was thrown. A proxy that throws as soon as it is read is replaced by an error. */
export function ensureInspectable(thrown: unknown): unknown {
  try {
    isError(thrown);
    return thrown;
  } catch {
    return new Error('an error that cannot be read');
  }
}

/** Whether a value is an error, also one of another realm: in Jest's sandbox the runtime's `fetch` throws those. */
export function isError(value: unknown): value is Error {
  return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';
}
