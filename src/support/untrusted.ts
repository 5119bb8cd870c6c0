/** Values of unknown form: from a service, a database, a runtime or a caller's code. */

export function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

export function parseJson(text: unknown): unknown {
  return orUndefined((): unknown => JSON.parse(String(text)));
}

export const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Whether a value has named fields: an object that is not an array. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isObject(value) && !Array.isArray(value);

/** Whether an object is plain, also one of another realm, as in Jest. Fields that a class inherits would not be read. */
export function isPlainObject(value: unknown): value is object {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Returns an object's own field of this name if it is a string. It calls no getter. */
export function stringField(owner: object, name: string): string | undefined {
  const field: unknown = Object.getOwnPropertyDescriptor(owner, name)?.value;
  return typeof field === 'string' ? field : undefined;
}
