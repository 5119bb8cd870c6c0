import { isObject, orUndefined } from '../untrusted.ts';
import { referenceSchema } from './input.ts';

/** How many references of one notification are looked for: anyone can send a webhook with a million. */
const MAX_REFERENCES = 10;

/**
 * Returns the references in a notification: the one that it is, or the first ten distinct ones among the text values of a
 * webhook's parsed body, at any depth. The form of such a body is not documented. It never throws.
 */
export function findReferences(notification: unknown): string[] {
  const found = new Set<string>();
  const visited = new Set<object>();
  // A loop with the next value at its end, because a body can be nested deeply.
  const open: unknown[] = [notification];
  while (open.length > 0 && found.size < MAX_REFERENCES) {
    const value = open.pop();
    if (typeof value === 'string') {
      if (referenceSchema.safeParse(value).success) found.add(value);
    } else if (isObject(value) && !visited.has(value)) {
      visited.add(value);
      for (const item of listValues(value).reverse()) open.push(item);
    }
  }
  return [...found];
}

/** Returns no value of an object that throws: a getter or a proxy can. */
function listValues(value: object): unknown[] {
  return orUndefined((): unknown[] => (isForm(value) ? [...value.values()] : listFields(value))) ?? [];
}

const isForm = (value: object): value is URLSearchParams | FormData =>
  value instanceof URLSearchParams || value instanceof FormData;

const listFields = (value: object) => (ArrayBuffer.isView(value) ? [] : Object.values(value));
