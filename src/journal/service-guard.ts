import * as z from 'zod/mini';
import { JournalError } from '../errors.ts';
import { elapsedSince, readClocks, type Timestamp } from '../timing.ts';
import { readOwn, writeOwn } from './compare-and-swap.ts';
import { isNoJournalError, type JournalStore } from './store.ts';

/** Where a store keeps the service that its journal belongs to. No caller's key has a control character. */
const SERVICE_KEY = '\tservice and mode';

const serviceRecordSchema = z.object({ format: z.literal(1), service: z.string() });

/** How long a handle relies on what it has read, in milliseconds: a statement for each charge would be too many. */
const GUARD_FRESH_FOR = 1_000;

/**
 * Returns a function that gives the service that the journal belongs to: the first that used it. `service` is a digest of
 * base URL and mode. It is read again each second, since the records might have been emptied or exchanged under a process
 * that runs. Calls do not wait for each other: one might hang.
 */
export function createServiceGuard(store: JournalStore): (service: string) => Promise<string> {
  let agreed: { readonly service: string; readonly at: Timestamp } | undefined;
  return async (service) => {
    const isKnown = agreed?.service === service;
    if (agreed && isKnown && elapsedSince(agreed.at) < GUARD_FRESH_FOR) return service;
    const at = readClocks();
    const owner = await readOrRecordService(store, service).catch((error: unknown) => {
      // The write that follows fails by itself then, and says why.
      if (isKnown) return service;
      throw error;
    });
    agreed = owner === service ? { service, at } : undefined;
    return owner;
  };
}

async function readOrRecordService(store: JournalStore, service: string): Promise<string> {
  // To read makes no tables. The write below does.
  const recorded = await readService(store).catch((error: unknown) => {
    if (isNoJournalError(error)) return null;
    throw error;
  });
  if (recorded !== null) return recorded;
  const write = { expected: null, mustCommit: true };
  if (await writeOwn(store, SERVICE_KEY, { format: 1, service }, write)) return service;
  // Another process was first.
  const first = await readService(store);
  if (first !== null) return first;
  throw new JournalError('The journal could not store which service it belongs to. Try again.', {
    retryable: true,
  });
}

async function readService(store: JournalStore): Promise<string | null> {
  const unreadable = () =>
    new JournalError('The record of the service that the journal belongs to cannot be read.');
  return (await readOwn(store, SERVICE_KEY, serviceRecordSchema, unreadable))?.value.service ?? null;
}
