import { decodeFully } from '../support/decoded-text.ts';
import { isObject, orUndefined, parseJson } from '../support/untrusted.ts';
import { REFERENCE } from './input.ts';

/** How many references of one notification are looked for: anyone can send a webhook with a million. */
const MAX_REFERENCES = 10;

/**
 * Returns the references in a notification: the one that it is, or the first ten distinct ones in a webhook's body, at any
 * depth. The form of such a body is not documented, nor is what the shop's route has done to it: it can be parsed, text,
 * bytes, or one of these in a field of another. It never throws.
 */
export function findReferences(notification: unknown): string[] {
  const found = new Set<string>();
  const visited = new Set<object>();
  // A loop with the next value at its end, because a body can be nested deeply.
  const open: unknown[] = [notification];
  while (open.length > 0 && found.size < MAX_REFERENCES) {
    const value = open.pop();
    if (typeof value === 'string') {
      if (isReference(value)) found.add(value);
      // A text of many megabytes can be too long to be searched.
      else open.push(...(orUndefined(() => readText(value)) ?? []).reverse());
    } else if (isObject(value) && !visited.has(value)) {
      visited.add(value);
      for (const item of listValues(value).reverse()) open.push(item);
    }
  }
  return [...found];
}

/** Whether a text can be the reference of a transaction. The schema would take seconds for all texts of a hostile body. */
export const isReference = (text: string) => REFERENCE.test(text);

/** Returns what a text that is no reference has in it: the value that it is JSON of, or references and decoded texts. */
function readText(text: string): unknown[] {
  const json = /^\s*[[{]/.test(text) ? parseJson(text) : undefined;
  if (isObject(json)) return [json];
  const mentions = decodeFully(text).match(/(?<![\w-])TXN-[\w.~:-]{0,250}\w(?!\w)/g) ?? [];
  const decoded = (text.match(/[\w+/-]{20,}/g) ?? [])
    .map(decodeBase64)
    .filter((part) => part.includes('TXN-'));
  return [...mentions.filter(isReference).slice(0, MAX_REFERENCES), ...decoded.slice(0, MAX_REFERENCES)];
}

const decodeBase64 = (text: string) =>
  orUndefined(() => atob(text.replaceAll('-', '+').replaceAll('_', '/'))) ?? '';

/** Returns no value of an object that throws: a getter or a proxy can. */
function listValues(value: object): unknown[] {
  return (
    orUndefined((): unknown[] => {
      if (isBytes(value)) return [new TextDecoder().decode(value)];
      return isForm(value) ? [...value.values()] : Object.values(value);
    }) ?? []
  );
}

/** Also an `ArrayBuffer` of another realm, as in Jest. */
const isBytes = (value: object): value is ArrayBuffer | ArrayBufferView =>
  ArrayBuffer.isView(value) || Object.prototype.toString.call(value) === '[object ArrayBuffer]';

const isForm = (value: object): value is URLSearchParams | FormData =>
  value instanceof URLSearchParams || value instanceof FormData;
