import { setTimeout as sleep } from 'node:timers/promises';
import { JournalError } from '../../../src/index.ts';
import type { Journal } from '../../../src/journal/index.ts';
import { note } from '../../helpers/resolution-note.ts';
import { readCallLog } from './call-log.ts';
import { createOrder } from './orders.ts';
import { seededRandom } from './seeded-random.ts';
import type { CrashService } from './service.ts';

/** How many keys the reviewer resolved, by resolution. */
export interface ResolvedCounts {
  charged: number;
  notCharged: number;
}

interface Review {
  seed: number;
  journal: Journal;
  service: CrashService;
  folder: string;
  lease: number;
}

interface UnresolvedKey {
  since: number;
  requests: number;
}

/**
 * Plays the person of a manual review, while the workers go on. It resolves every second key that a worker logged as
 * unknown, from the service's ledger. It resolves a key as not charged only after the ledger had no charge for two
 * leases: a request might still be on its way.
 */
export async function resolveUnresolvedKeys(review: Review, signal: AbortSignal): Promise<ResolvedCounts> {
  const resolved = { charged: 0, notCharged: 0 };
  const unresolved = new Map<string, UnresolvedKey>();
  while (!signal.aborted) {
    for (const key of listUnresolvedKeys(review)) {
      const resolution = await decideResolution(review, unresolved, key);
      if (resolution === undefined) continue;
      try {
        await review.journal.resolve(key, resolution, note);
        unresolved.delete(key);
        if (resolution === 'not_charged') resolved.notCharged++;
        else resolved.charged++;
      } catch (error) {
        // The key was charged or claimed again in the meantime.
        if (!(error instanceof JournalError)) throw error;
      }
    }
    await sleep(review.lease / 4);
  }
  return resolved;
}

function listUnresolvedKeys({ folder, seed }: Review): Set<string> {
  const unknown = readCallLog(folder).filter(
    ({ result, index }) => result === 'unknown' && seededRandom(seed, 'reviewer', index) < 0.5,
  );
  return new Set(unknown.map(({ index }) => createOrder(index).key));
}

async function decideResolution(
  { journal, service, lease }: Review,
  unresolved: Map<string, UnresolvedKey>,
  key: string,
) {
  const entry = await journal.read(key);
  const isUnresolved = entry?.state === 'unknown';
  const requests = service.requestsFor(key);
  const known = unresolved.get(key);
  if (!isUnresolved || service.isBusyWith(key)) {
    unresolved.delete(key);
    return undefined;
  }
  if (known?.requests !== requests) unresolved.set(key, { since: performance.now(), requests });
  const [charge] = service.chargesFor(key);
  if (charge) return { reference: charge.reference };
  const hasStayed = known?.requests === requests && performance.now() - known.since > 2 * lease;
  return hasStayed ? ('not_charged' as const) : undefined;
}
