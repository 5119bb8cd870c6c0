import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { getRecords } from '../../../../src/journal/core.ts';
import type { Journal, JournalEntry } from '../../../../src/journal/index.ts';
import { listOwed } from '../../../../src/ledger/order.ts';
import { isUnresolved, referenceOf, seenOf } from '../../../../src/ledger/payment.ts';
import type { Payment } from '../../../../src/ledger/record.ts';
import { API_KEY } from '../api-key.ts';
import { createChargePool } from '../harness.ts';
import { dumpJournal } from '../journal-dump.ts';
import type { JournalKind } from '../journal-kinds.ts';
import { openJournal, prepareJournal } from '../journals.ts';
import { type CrashService, startCrashService } from '../service.ts';
import type { Settings } from '../settings.ts';
import { WorkerPool } from '../worker-pool.ts';
import { checkPayments, type FollowUpCounts } from './check-payments.ts';
import { planSweepKill } from './kill-plan.ts';
import type { controls, SweeperSettings } from './settings.ts';
import { type LoggedEvent, readSweepLog } from './sweep-log.ts';
import { VerifyService } from './verify-service.ts';

export interface FollowUpRunOptions {
  kind: JournalKind;
  /** The URL of a database. SQLite gets its own file. */
  url?: string | undefined;
  keys: number;
  workers: number;
  sweepers: number;
  /** How many workers that charge are killed, and how many sweepers. */
  chargeKills: number;
  kills: number;
  seed: number;
  polling: SweeperSettings['polling'];
  /** The timeout of one request, in milliseconds. */
  timeout: number;
  /** How many payments have no faults shortly before the deadline and later, from 0 to 1. */
  calm: number;
  hasBadHandlers: boolean;
  /** How long after the last charge the run can take, in milliseconds. With a `control`, how long it takes. */
  limit: number;
  /** What is taken away from the journal. The run must then find double work. */
  control?: (typeof controls)[number] | undefined;
  /** Ends the run and every process of it. */
  signal?: AbortSignal | undefined;
}

/** The counts of a run. */
export interface FollowUpRunResult extends FollowUpCounts {
  kind: FollowUpRunOptions['kind'];
  control: FollowUpRunOptions['control'];
  keys: number;
  chargeKills: number;
  kills: number;
  aimed: number;
  /** Kills of sweepers, by kill point. */
  killsAt: ReadonlyMap<string, number>;
  /** How many payments the killed sweepers held, over all kills. */
  heldAtKill: number;
  /** Calls of handlers that threw. */
  threw: number;
  /** Sweeps that failed as a whole. */
  failed: readonly string[];
  notified: number;
  violations: readonly string[];
  seconds: number;
}

/** The lease of a charge: long enough for a busy machine, in milliseconds. */
const LEASE = 3_000;

/** A charge is mostly made: this is about what comes after. */
const chargeWeights = {
  success: 80,
  'late success': 3,
  'reset before accepting': 1,
  'reset after accepting': 2,
  'response lost': 2,
  'hang before accepting': 0,
  'hang after accepting': 0.5,
  '429': 2,
  '400': 1,
  'status false': 1,
  '503 before accepting': 1,
  '500 after accepting': 2,
  '502 after accepting': 1,
  'JSON cut short': 1.5,
  'wrong amount': 2,
};

/**
 * Charges every key in workers, and follows the payments up in sweepers. Both are killed and started again. Then it
 * compares what the sweepers logged, and the journal, with the service's ledger.
 */
export async function runFollowUpProof(options: FollowUpRunOptions): Promise<FollowUpRunResult> {
  const startedAt = performance.now();
  const { kind, seed, keys, polling, timeout, calm, signal } = options;
  const folder = mkdtempSync(join(tmpdir(), 'payments-follow-ups-'));
  mkdirSync(join(folder, 'sweeps'));
  const place = options.url ?? join(folder, 'journal.db');
  const chargers = createChargePool({ seed, kind, keys, kills: options.chargeKills, signal }, folder);
  const sweepers = createSweeperPool(options, folder);
  const verify = new VerifyService({
    seed,
    deadline: polling.timeout,
    timeout,
    calm,
    onRequest: (point, generation) => sweepers.onRequest(point, generation),
    onWebhook: (reference, at) => sweepers.send({ notify: reference }, at),
  });
  const service = await startCrashService(
    seed,
    (point, generation) => chargers.onRequest(point, generation),
    {
      weights: chargeWeights,
      onCharge: verify.onCharge,
      onVerify: verify.onVerify,
    },
  );
  try {
    await prepareJournal(kind, place);
    const context = { ...options, folder, place, baseUrl: service.baseUrl };
    const stoppedAt = await runProcesses(context, { chargers, sweepers, verify });
    await service.stop();
    const { events, violations, ...findings } = await checkRun(context, {
      sweepers,
      verify,
      service,
      stoppedAt,
    });
    const { paused } = chargers.counts;
    // A machine that is busy can hold a process up for as long as a lease.
    const maxWoken = paused + Math.ceil(keys / 100);
    if (findings.woken > maxWoken)
      violations.push(`${findings.woken} charges were reported as unresolved too early`);
    return {
      kind,
      control: options.control,
      keys,
      chargeKills: chargers.counts.kills,
      kills: sweepers.counts.kills,
      aimed: sweepers.counts.aimed,
      killsAt: sweepers.counts.killsAt,
      heldAtKill: countHeld(events, sweepers.killed),
      threw: events.filter(({ event }) => event === 'threw').length,
      failed: events.flatMap((logged) => (logged.event === 'failed' ? [logged.message] : [])),
      notified: events.filter(({ event }) => event === 'notified').length,
      ...findings,
      violations,
      seconds: (performance.now() - startedAt) / 1000,
    };
  } finally {
    chargers.killAll();
    sweepers.killAll();
    verify.stop();
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

type RunContext = FollowUpRunOptions & { folder: string; place: string; baseUrl: string };

interface Processes {
  chargers: WorkerPool<Settings>;
  sweepers: WorkerPool<SweeperSettings>;
  verify: VerifyService;
}

function createSweeperPool(
  { seed, kind, kills, signal }: FollowUpRunOptions,
  folder: string,
): WorkerPool<SweeperSettings> {
  return new WorkerPool({
    program: new URL('sweeper.ts', import.meta.url),
    folder,
    kills,
    planKill: (generation) => planSweepKill(seed, kind, generation),
    signal,
  });
}

/** Runs until every payment has ended. Returns when the last sweepers were told to stop, in milliseconds since 1970. */
async function runProcesses(context: RunContext, { chargers, sweepers, verify }: Processes): Promise<number> {
  const { seed, kind, place, baseUrl, folder, keys, workers, timeout, polling, signal } = context;
  const common = { seed, kind, place, baseUrl, folder, lease: LEASE, timeout, polling };
  let isStopping = false;
  const sweeping = Array.from({ length: context.sweepers }, async (_, slot) => {
    const { control, hasBadHandlers } = context;
    while (!isStopping && !signal?.aborted)
      await sweepers.runWorker({ ...common, slot, control, hasBadHandlers });
  });
  const charging = Array.from({ length: workers }, async (_, slot) => {
    const settings = { ...common, slot, keys, workers, hasReviewer: false };
    while (!signal?.aborted && (await chargers.runWorker(settings)) === 'killed');
  });
  await Promise.race([Promise.all(charging), Promise.all(sweeping)]);
  await Promise.race([waitUntilEnded(context, verify), Promise.all(sweeping)]);
  signal?.throwIfAborted();
  isStopping = true;
  const stoppedAt = Date.now();
  const stopper = setInterval(() => sweepers.send('stop'), 500);
  sweepers.send('stop');
  await Promise.all(sweeping);
  clearInterval(stopper);
  return stoppedAt;
}

/** Waits until nothing is left to do but checks after the deadline. */
async function waitUntilEnded(
  { kind, place, limit, control, signal }: RunContext,
  verify: VerifyService,
): Promise<void> {
  const end = performance.now() + limit;
  const { journal, close } = await openJournal(kind, place, { lease: LEASE, other: true, aroundCommit });
  try {
    while (performance.now() < end && !signal?.aborted) {
      if (control === undefined && (await hasEnded(journal, verify))) return;
      await sleep(500);
    }
  } finally {
    await close();
  }
}

const aroundCommit = (commit: () => void) => commit();

async function hasEnded(journal: Journal, verify: VerifyService): Promise<boolean> {
  const records = getRecords(journal);
  for await (const { found } of records.list('createdAt')) {
    const [payment] = found?.record.payments ?? [];
    if (!found || !payment) throw new Error('A record cannot be read.');
    if (listOwed(found.record, records.now).length > 0) return false;
    const isDone = payment.charge.is === 'none' || isUnresolved(payment, records.now);
    if (!isDone && !payment.told.final && !isKnownToLast(payment, verify)) return false;
  }
  return true;
}

/** Whether nothing but checks at long pauses is left, for days. */
function isKnownToLast(payment: Payment, verify: VerifyService): boolean {
  const { askedAt, failing } = seenOf(payment) ?? {};
  const reference = referenceOf(payment) ?? '';
  const life = verify.lifeOf(reference);
  const isFinal = verify.gets.some(
    (get) => get.reference === reference && get.told && get.told !== 'not found' && get.told.isFinal,
  );
  // A transaction of another reference is no result. It needs a person after a day.
  if (life?.fate === 'wrong reference') return failing !== undefined;
  return !isFinal && askedAt !== undefined && payment.told.attention.length > 0;
}

async function checkRun(
  { kind, place, keys, polling, timeout, folder }: RunContext,
  {
    sweepers,
    verify,
    service,
    stoppedAt,
  }: Pick<Processes, 'sweepers' | 'verify'> & { service: CrashService; stoppedAt: number },
) {
  const events = readSweepLog(folder);
  const { journal, close } = await openJournal(kind, place, { lease: LEASE, other: true, aroundCommit });
  const entries = new Map<string, JournalEntry>();
  const payments = new Map<string, Payment>();
  try {
    for await (const entry of journal.list()) entries.set(entry.key, entry);
    for (const key of entries.keys()) {
      const { record } = await getRecords(journal).read({ kind: 'key', id: key });
      const [payment] = record?.payments ?? [];
      if (payment) payments.set(key, payment);
    }
  } finally {
    await close();
  }
  const { violations, ...counts } = checkPayments({
    keys,
    entries,
    payments,
    chargesFor: service.chargesFor,
    service: verify,
    events,
    polling,
    timeout,
    killed: sweepers.killed,
    stoppedAt,
  });
  return { ...counts, events, violations: [...violations, ...findSecrets(await dumpJournal(kind, place))] };
}

/** Returns the secrets that are in a record. The service has sent each of them. */
function findSecrets(dump: string): string[] {
  const secrets = [API_KEY, API_KEY.slice('sk_test_'.length), '024 412 3456', '0244123456', '@example.com'];
  return secrets.filter((secret) => dump.includes(secret)).map((secret) => `${secret} is in a record`);
}

/** Returns how many payments the killed processes had claimed, and not finished a step of. */
function countHeld(events: readonly LoggedEvent[], killed: ReadonlySet<number>): number {
  const held = new Set<string>();
  for (const logged of events) {
    if (!killed.has(logged.generation)) continue;
    if (logged.event === 'claimed') for (const key of logged.keys) held.add(`${logged.generation} ${key}`);
    const isFinished = logged.event === 'recorded' && logged.step !== 'final';
    if (isFinished) held.delete(`${logged.generation} ${logged.key}`);
  }
  return held.size;
}
