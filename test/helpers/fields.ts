import { expect } from 'vitest';

/** What an object itself holds under a name; `undefined` where it inherits it. */
export function ownField(object: unknown, name: string): unknown {
  return Object.getOwnPropertyDescriptor(Object(object), name)?.value;
}

/** Holds field for field what is expected. As JSON text, because a matcher of the test runner misses `__proto__`. */
export function expectFields(found: unknown, expected: object): void {
  expect(Object.getPrototypeOf(found)).toBe(Object.prototype);
  for (const [name, value] of Object.entries(expected)) {
    expect(Object.keys(Object(found))).toContain(name);
    expect(JSON.stringify(ownField(found, name)), name).toBe(JSON.stringify(value));
  }
}
