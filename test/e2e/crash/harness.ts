import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type LoggedCall, readCallLog } from './call-log.ts';
import { checkKeys, findDoubleCharges, type StateCounts } from './check-run.ts';
import { isRaced, type JournalKind } from './journal-kinds.ts';
import { openJournal, prepareJournal } from './journals.ts';
import { planKill } from './kill-plan.ts';
import { type ResolvedCounts, resolveUnresolvedKeys } from './reviewer.ts';
import { type CrashService, startCrashService } from './service.ts';
import type { Settings } from './settings.ts';
import { WorkerPool } from './worker-pool.ts';

export interface RunOptions {
  kind: JournalKind;
  /** The URL of a database. SQLite gets its own file. */
  url?: string | undefined;
  keys: number;
  workers: number;
  /** How many workers are killed before they are left alone. */
  kills: number;
  seed: number;
  /** Whether a reviewer resolves unresolved keys while the workers run. */
  hasReviewer?: boolean | undefined;
  lease?: number | undefined;
  timeout?: number | undefined;
  /** Ends the run and every process of it. */
  signal?: AbortSignal | undefined;
}

/** The counts of a run. */
export interface RunResult {
  kind: JournalKind;
  keys: number;
  kills: number;
  aimed: number;
  /** Kills by kill point. */
  killsAt: ReadonlyMap<string, number>;
  paused: number;
  restarts: number;
  requests: number;
  charges: number;
  /** Calls that waited for another process that was charging under their key. */
  waited: number;
  /** Results that came from the journal, with nothing sent. */
  replayed: number;
  conflicts: number;
  /** Keys by state. `undefined` without a journal that outlives its process. */
  states: StateCounts | undefined;
  resolved: ResolvedCounts | undefined;
  doubled: number;
  doubledAfterCrash: number;
  violations: readonly string[];
  seconds: number;
}

/**
 * Charges every key in workers that are killed and started again. Then it compares what they logged, and the journal, with
 * the service's ledger.
 */
export async function runCrashProof(options: RunOptions): Promise<RunResult> {
  const startedAt = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'payments-crashproof-'));
  const place = options.url ?? join(folder, 'journal.db');
  const pool = createChargePool(options, folder);
  const service = await startCrashService(options.seed, (point, generation) =>
    pool.onRequest(point, generation),
  );
  try {
    await prepareJournal(options.kind, place);
    const resolved = await runWorkers(pool, service, { ...options, folder, place });
    await service.stop();
    const calls = readCallLog(folder);
    const doubled = findDoubleCharges({ keys: options.keys, service });
    return {
      kind: options.kind,
      keys: options.keys,
      ...pool.counts,
      requests: [...service.faults.values()].reduce((sum, count) => sum + count, 0),
      charges: service.charges.length,
      ...countCalls(calls, service),
      ...(await checkJournal({ ...options, place }, service, calls)),
      resolved,
      doubled: doubled.length,
      doubledAfterCrash: doubled.filter(({ afterCrash }) => afterCrash).length,
      seconds: (performance.now() - startedAt) / 1000,
    };
  } finally {
    pool.killAll();
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Creates the pool of the workers that charge. */
export function createChargePool(
  { seed, kind, keys, kills, signal }: Pick<RunOptions, 'seed' | 'kind' | 'keys' | 'kills' | 'signal'>,
  folder: string,
): WorkerPool<Settings> {
  const callsPerKill = (keys * (isRaced(kind) ? 2 : 1)) / Math.max(1, kills);
  return new WorkerPool({
    program: new URL('worker.ts', import.meta.url),
    folder,
    kills,
    planKill: (generation) => planKill(seed, kind, generation, callsPerKill),
    signal,
  });
}

type RunContext = RunOptions & { folder: string; place: string };

/** Each slot starts one worker after another, until one has finished the slot's orders. */
async function runWorkers(
  pool: WorkerPool<Settings>,
  service: CrashService,
  context: RunContext,
): Promise<ResolvedCounts | undefined> {
  const {
    seed,
    kind,
    keys,
    workers,
    folder,
    place,
    hasReviewer = false,
    lease = 400,
    timeout = 600,
  } = context;
  const common = {
    seed,
    kind,
    place,
    baseUrl: service.baseUrl,
    folder,
    keys,
    workers,
    lease,
    timeout,
    hasReviewer,
  };
  const ended = new AbortController();
  const review = hasReviewer ? startReviewer(service, context, ended.signal) : undefined;
  const slots = Array.from({ length: workers }, async (_, slot) => {
    while (!context.signal?.aborted && (await pool.runWorker({ ...common, slot })) === 'killed');
  });
  try {
    await Promise.race([Promise.all(slots), review?.then(() => Promise.all(slots)) ?? Promise.all(slots)]);
  } finally {
    ended.abort();
  }
  context.signal?.throwIfAborted();
  return review;
}

async function startReviewer(
  service: CrashService,
  context: RunContext,
  signal: AbortSignal,
): Promise<ResolvedCounts> {
  const { seed, kind, place, folder, lease = 400 } = context;
  const { journal, close } = await openJournal(kind, place, { lease, other: false, aroundCommit });
  try {
    return await resolveUnresolvedKeys({ seed, journal, service, folder, lease }, signal);
  } finally {
    await close();
  }
}

async function checkJournal(
  context: RunOptions & { place: string },
  service: CrashService,
  calls: readonly LoggedCall[],
) {
  const { kind, keys, place, lease = 400 } = context;
  if (kind === 'none' || kind === 'memory') return { states: undefined, violations: [] };
  // After that, the leases of every worker that was killed have expired.
  await sleep(1.5 * lease);
  const { journal, close } = await openJournal(kind, place, { lease, other: true, aroundCommit });
  try {
    const { violations, ...states } = await checkKeys(journal, { keys, service, calls });
    return { states, violations };
  } finally {
    await close();
  }
}

const aroundCommit = (commit: () => void) => commit();

function countCalls(calls: readonly LoggedCall[], service: CrashService) {
  const charged = new Set(service.charges.map(({ call }) => call));
  return {
    waited: calls.filter(({ hasWaited }) => hasWaited).length,
    replayed: calls.filter(({ result, call }) => result === 'completed' && !charged.has(call)).length,
    conflicts: calls.filter(({ result }) => result === 'conflict').length,
  };
}
