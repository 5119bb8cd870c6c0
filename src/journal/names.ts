/** How records are named in a store. Orders, keys and references have namespaces, so that no id is taken for another's. */

import type { RecordKind } from './store.ts';

/** Whose record it is: an order, or an idempotency key of the caller's own. */
export interface RecordName {
  readonly kind: RecordKind;
  readonly id: string;
}

export const toStoreKey = ({ kind, id }: RecordName) => `${kind} ${id}`;

/** The key of the claim of a reference. Two that differ in case only are never told apart. */
export const toReferenceKey = (reference: string) => `reference ${reference.toLowerCase()}`;

/** Returns whose record a store has under a key; `undefined` if it is none of an order or a key. */
export function parseStoreKey(key: string): RecordName | undefined {
  const [, kind, id] = /^(order|key) (.+)$/su.exec(key) ?? [];
  if (id === undefined) return undefined;
  return { kind: kind === 'order' ? 'order' : 'key', id };
}

/** Returns the name of a payment: `17/2`. A key has one payment, and others only if the service made more than one charge. */
export const namePayment = ({ kind, id }: RecordName, number: number) =>
  kind === 'key' && number === 1 ? id : `${id}/${number}`;
