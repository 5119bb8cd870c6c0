import { setTimeout as sleep } from 'node:timers/promises';
import { JournalError } from '../../../src/index.ts';
import type { Journal } from '../../../src/journal/index.ts';
import { chance } from './chance.ts';
import { readNotes } from './notes.ts';
import { orderAt } from './orders.ts';
import type { CrashService } from './service.ts';

/** How often somebody said what had become of a charge. */
export interface Settled {
  charged: number;
  notCharged: number;
}

interface Desk {
  seed: number;
  journal: Journal;
  service: CrashService;
  folder: string;
  lease: number;
}

interface Doubt {
  since: number;
  requests: number;
}

/**
 * Somebody who looks up what the workers noted as unknown, one order in two, and settles it by the service's own books
 * while the workers go on. "Nothing there" is believed only once it has stayed so for a while: what has left a worker
 * may still be on its way.
 */
export async function settleDoubts(desk: Desk, signal: AbortSignal): Promise<Settled> {
  const settled = { charged: 0, notCharged: 0 };
  const doubts = new Map<string, Doubt>();
  while (!signal.aborted) {
    for (const key of keysInDoubt(desk)) {
      const resolution = await resolutionOf(desk, doubts, key);
      if (resolution === undefined) continue;
      try {
        await desk.journal.resolve(key, resolution);
        doubts.delete(key);
        if (resolution === 'not_charged') settled.notCharged++;
        else settled.charged++;
      } catch (error) {
        // It has been charged, or begun again, this very moment.
        if (!(error instanceof JournalError)) throw error;
      }
    }
    await sleep(desk.lease / 4);
  }
  return settled;
}

function keysInDoubt({ folder, seed }: Desk): Set<string> {
  const unknown = readNotes(folder).filter(
    ({ ending, index }) => ending === 'unknown' && chance(seed, 'person', index) < 0.5,
  );
  return new Set(unknown.map(({ index }) => orderAt(index).key));
}

async function resolutionOf({ journal, service, lease }: Desk, doubts: Map<string, Doubt>, key: string) {
  const entry = await journal.read(key);
  const inDoubt = entry?.state === 'unknown';
  const requests = service.requestsFor(key);
  const doubt = doubts.get(key);
  if (!inDoubt || service.isBusyWith(key)) {
    doubts.delete(key);
    return undefined;
  }
  if (doubt?.requests !== requests) doubts.set(key, { since: performance.now(), requests });
  const [charge] = service.chargesFor(key);
  if (charge) return { reference: charge.reference };
  const isOld = doubt?.requests === requests && performance.now() - doubt.since > 2 * lease;
  return isOld ? ('not_charged' as const) : undefined;
}
