import { expect } from 'vitest';

/** Returns an object's own field, or `undefined` if it inherits it. */
function readOwnField(object: unknown, name: string): unknown {
  return Object.getOwnPropertyDescriptor(Object(object), name)?.value;
}

/** Expects each field. It compares JSON, because the matchers of the test runner miss `__proto__`. */
export function expectFields(found: unknown, expected: object): void {
  expect(Object.getPrototypeOf(found)).toBe(Object.prototype);
  for (const [name, value] of Object.entries(expected)) {
    expect(Object.keys(Object(found))).toContain(name);
    expect(JSON.stringify(readOwnField(found, name)), name).toBe(JSON.stringify(value));
  }
}
