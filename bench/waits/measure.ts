import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRedact } from '../../src/support/redact.ts';
import type { Contender, Setting } from './contenders.ts';

/** Of waits that only wait. */
export interface Pending {
  /** Milliseconds to start all of them. */
  create: number;
  /**
   * Heap after a full collection: bytes for each wait and the caller's `.then` on it, without the strings of the
   * references.
   */
  bytes: number;
  /** Milliseconds from the abort until every wait has ended; null if they do not end. */
  abort: number | null;
}

/** Of waits that poll. */
export interface Polling {
  pollsPerSecond: number;
  /** Microseconds of CPU of the whole process for each poll, less those of an idle process. */
  cpu: number;
  /** Milliseconds that the event loop came late. */
  loopP99: number;
  loopMax: number;
}

const PENDING_PAUSE = 600_000;
const ABORT_TIMEOUT = 5_000;

export async function measurePending(contender: Contender, count: number): Promise<Pending> {
  const references = createReferences(count);
  const stop = new AbortController();
  const start = contender({
    signal: stop.signal,
    check: createStub().check,
    getPause: () => PENDING_PAUSE,
  });
  const waits = new Array<Promise<unknown>>(count);
  const end = createCounter(count);

  const heapBefore = await getHeapUsed();
  const before = performance.now();
  references.forEach((reference, index) => {
    // As a caller has it: two functions for each wait, which do not keep the wait's context.
    waits[index] = start(reference).then(
      () => end.count(),
      () => end.count(),
    );
  });
  const create = performance.now() - before;
  const bytes = ((await getHeapUsed()) - heapBefore) / count;

  const abortedAt = performance.now();
  stop.abort();
  const hasEnded = await Promise.race([end.all.then(() => true), sleep(ABORT_TIMEOUT)]);
  return { create, bytes, abort: hasEnded ? performance.now() - abortedAt : null };
}

/** Resolves `all` after as many counts. */
function createCounter(expected: number): { count: () => void; all: Promise<void> } {
  let count = 0;
  let resolve = () => {};
  const all = new Promise<void>((resolveAll) => {
    resolve = resolveAll;
  });
  return {
    count() {
      count++;
      if (count === expected) resolve();
    },
    all,
  };
}

const WARM_UP = 7_000;
const WINDOW = 6_000;
const RESOLUTION = 10;

export async function measurePolling(contender: Contender, count: number): Promise<Polling> {
  const references = createReferences(count);
  measureLoopDelay();
  const idle = await measureCpu(1_000);

  const stub = createStub();
  const getPause = () => 3_000 + 12_000 * Math.random();
  const start = contender({ signal: new AbortController().signal, check: stub.check, getPause });
  for (const reference of references) start(reference);
  await sleep(WARM_UP);

  const readLoopDelay = measureLoopDelay();
  const checksBefore = stub.countChecks();
  const busy = await measureCpu(WINDOW);
  const polls = stub.countChecks() - checksBefore;
  const { p99, max } = readLoopDelay();
  return {
    pollsPerSecond: (polls * 1_000) / busy.elapsed,
    cpu: (busy.cpu - (idle.cpu / idle.elapsed) * busy.elapsed) / polls,
    loopP99: p99,
    loopMax: max,
  };
}

/** Measures how late the event loop is from now on, in milliseconds. */
export function measureLoopDelay(): () => { p99: number; max: number } {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION });
  histogram.enable();
  const getDelay = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - RESOLUTION);
  return () => ({ p99: getDelay(histogram.percentile(99)), max: getDelay(histogram.max) });
}

/** Resolves all checks of one turn of the event loop in the next turn, as `pending`. */
function createStub(): { check: Setting['check']; countChecks: () => number } {
  const transaction = {
    reference: 'TXN-0',
    amount: '25.50',
    currency: 'GHS',
    customer_email: 'a@example.com',
  };
  const callResult = {
    result: { ...transaction, status: 'pending', paid_at: null },
    retryAfter: undefined,
    requestId: 'bench',
    redact: () => createRedact([]),
  } as const;
  let pending: ((given: typeof callResult) => void)[] = [];
  let count = 0;
  const flush = () => {
    const resolved = pending;
    pending = [];
    for (const resolve of resolved) resolve(callResult);
  };
  const check = () => {
    count++;
    if (pending.length === 0) setImmediate(flush);
    return new Promise<typeof callResult>((resolve) => pending.push(resolve));
  };
  return { check, countChecks: () => count };
}

export async function measureCpu(milliseconds: number): Promise<{ cpu: number; elapsed: number }> {
  const [cpuBefore, before] = [process.cpuUsage(), performance.now()];
  await sleep(milliseconds);
  const { user, system } = process.cpuUsage(cpuBefore);
  return { cpu: user + system, elapsed: performance.now() - before };
}

/** Flat strings, made before anything is measured: they belong to the caller. */
export function createReferences(count: number): string[] {
  return Array.from({ length: count }, (_, index) => Buffer.from(`TXN-${index + 1e9}`).toString('latin1'));
}

export async function getHeapUsed(): Promise<number> {
  if (!globalThis.gc) throw new Error('Run this with --expose-gc.');
  // What waits for a finalizer is freed in a later turn, and then in the next collection.
  for (let round = 0; round < 5; round++) {
    await sleep(20);
    globalThis.gc();
  }
  return process.memoryUsage().heapUsed;
}
