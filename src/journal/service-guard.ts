import * as z from 'zod/mini';
import { JournalError } from '../errors.ts';
import { parseJson } from '../untrusted.ts';
import { newVersion, readStored, writeText } from './record.ts';
import type { JournalStore } from './store.ts';

/** Where a store keeps the service that its journal belongs to. No caller's key has a control character. */
const SERVICE_KEY = '\tservice and mode';

const serviceRecordSchema = z.object({ format: z.literal(1), service: z.string() });

/**
 * Returns a function that gives the service that the journal belongs to: the first that used it. `service` is a digest of
 * base URL and mode. A handle reads its store only until both agree. Calls do not wait for each other: one might hang.
 */
export function createServiceGuard(store: JournalStore): (service: string) => Promise<string> {
  let agreed: string | undefined;
  return async (service) => {
    if (agreed === service) return service;
    const owner = await readOrRecordService(store, service);
    if (owner === service) agreed = owner;
    return owner;
  };
}

async function readOrRecordService(store: JournalStore, service: string): Promise<string> {
  const recorded = await readService(store);
  if (recorded !== null) return recorded;
  const text = JSON.stringify({ format: 1, service });
  const version = newVersion(crypto.randomUUID());
  const change = { expected: null, version, text, ttl: null, mustCommit: true, index: null, dueIn: null };
  if (await writeText(store, SERVICE_KEY, change)) return service;
  // Another process was first.
  const first = await readService(store);
  if (first !== null) return first;
  throw new JournalError('The journal could not store which service it belongs to. Try again.', {
    retryable: true,
  });
}

async function readService(store: JournalStore): Promise<string | null> {
  const stored = await readStored(store, SERVICE_KEY);
  if (!stored) return null;
  const record = serviceRecordSchema.safeParse(parseJson(String(stored.text)));
  if (record.success) return record.data.service;
  throw new JournalError('The record of the service that the journal belongs to cannot be read.');
}
