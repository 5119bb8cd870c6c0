/** Returns what `read` returns, or `undefined` if it throws. */
export function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Whether an object is plain, also one of another realm, as in Jest. Fields that a class inherits would not be read. */
export function isPlainObject(value: unknown): value is object {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Parses JSON, or returns `undefined` if the text is not JSON. */
export function parseJson(text: string): unknown {
  return orUndefined(() => JSON.parse(text));
}
