import * as z from 'zod/mini';
import { JournalError } from '../errors.ts';
import { parseJson } from '../untrusted.ts';
import { newVersion, readStored, writeText } from './record.ts';
import type { JournalStore } from './store.ts';

/** Where a store keeps the service that its journal belongs to. No caller's key has a control character. */
const SERVICE_KEY = '\tservice and mode';

const serviceRecordSchema = z.object({ format: z.literal(1), service: z.string() });

/**
 * Gives the service that the journal belongs to, which is the first that asks; `service` is its digest, with the mode. A
 * handle asks its store only until it knows that they agree. Calls do not wait for each other: one of them may hang.
 */
export function createServiceGuard(store: JournalStore): (service: string) => Promise<string> {
  let agreed: string | undefined;
  return async (service) => {
    if (agreed === service) return service;
    const owner = await readOrClaim(store, service);
    if (owner === service) agreed = owner;
    return owner;
  };
}

async function readOrClaim(store: JournalStore, service: string): Promise<string> {
  const owner = await readOwner(store);
  if (owner !== null) return owner;
  const text = JSON.stringify({ format: 1, service });
  const version = newVersion(crypto.randomUUID());
  const change = { expected: null, version, text, ttl: null, mustCommit: true };
  if (await writeText(store, SERVICE_KEY, change)) return service;
  // Another process was first.
  const first = await readOwner(store);
  if (first !== null) return first;
  throw new JournalError('The journal could not keep which service it belongs to.', { retryable: true });
}

async function readOwner(store: JournalStore): Promise<string | null> {
  const stored = await readStored(store, SERVICE_KEY);
  if (!stored) return null;
  const record = serviceRecordSchema.safeParse(parseJson(stored.text));
  if (record.success) return record.data.service;
  throw new JournalError('The record of the service that the journal belongs to cannot be read.');
}
