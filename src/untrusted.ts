/** What can be read, or `undefined` where that throws. */
export function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Parses JSON, or returns `undefined` if the text is not JSON. */
export function parseJson(text: string): unknown {
  return orUndefined(() => JSON.parse(text));
}
