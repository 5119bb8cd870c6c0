import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRedact } from '../../src/redact.ts';
import type { Contender, Setting } from './contenders.ts';

/** Of waits that only wait. */
export interface Pending {
  /** Milliseconds to begin all of them. */
  create: number;
  /** Heap after a full collection: bytes for each wait, without the strings of the references. */
  bytes: number;
  /** Milliseconds from the abort until every promise has settled; null where they do not. */
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

const PAUSE_PENDING = 600_000;
const ABORT_PATIENCE = 5_000;

export async function measurePending(contender: Contender, count: number): Promise<Pending> {
  const references = referencesFor(count);
  const stop = new AbortController();
  const begin = contender({
    signal: stop.signal,
    ask: stub().ask,
    pause: () => PAUSE_PENDING,
  });
  const promises = new Array<Promise<unknown>>(count);

  const heapBefore = await heapInUse();
  const before = performance.now();
  references.forEach((reference, index) => {
    promises[index] = begin(reference);
  });
  const create = performance.now() - before;
  const bytes = ((await heapInUse()) - heapBefore) / count;

  const settled = Promise.allSettled(promises);
  const abortedAt = performance.now();
  stop.abort();
  const aborted = await Promise.race([settled, sleep(ABORT_PATIENCE)]);
  return { create, bytes, abort: aborted ? performance.now() - abortedAt : null };
}

const WARM_UP = 7_000;
const WINDOW = 6_000;
const RESOLUTION = 10;

export async function measurePolling(contender: Contender, count: number): Promise<Polling> {
  const references = referencesFor(count);
  loopDelay();
  const idle = await cpuDuring(1_000);

  const asked = stub();
  const pause = () => 3_000 + 12_000 * Math.random();
  const begin = contender({ signal: new AbortController().signal, ask: asked.ask, pause });
  for (const reference of references) begin(reference);
  await sleep(WARM_UP);

  const late = loopDelay();
  const polled = asked.count();
  const busy = await cpuDuring(WINDOW);
  const polls = asked.count() - polled;
  const { p99, max } = late();
  return {
    pollsPerSecond: (polls * 1_000) / busy.elapsed,
    cpu: (busy.cpu - (idle.cpu / idle.elapsed) * busy.elapsed) / polls,
    loopP99: p99,
    loopMax: max,
  };
}

/** How late the event loop comes from now on, in milliseconds. */
export function loopDelay(): () => { p99: number; max: number } {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION });
  histogram.enable();
  const late = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - RESOLUTION);
  return () => ({ p99: late(histogram.percentile(99)), max: late(histogram.max) });
}

/** Answers "pending" in the next turn of the event loop, to all that asked in this one. */
function stub(): { ask: Setting['ask']; count: () => number } {
  const transaction = {
    reference: 'TXN-0',
    amount: '25.50',
    currency: 'GHS',
    customer_email: 'a@example.com',
  };
  const answer = {
    result: { ...transaction, status: 'pending', paid_at: null },
    retryAfter: undefined,
    redact: () => createRedact([]),
  } as const;
  let waiting: ((given: typeof answer) => void)[] = [];
  let count = 0;
  const flush = () => {
    const asking = waiting;
    waiting = [];
    for (const resolve of asking) resolve(answer);
  };
  const ask = () => {
    count++;
    if (waiting.length === 0) setImmediate(flush);
    return new Promise<typeof answer>((resolve) => waiting.push(resolve));
  };
  return { ask, count: () => count };
}

export async function cpuDuring(milliseconds: number): Promise<{ cpu: number; elapsed: number }> {
  const [cpuBefore, before] = [process.cpuUsage(), performance.now()];
  await sleep(milliseconds);
  const { user, system } = process.cpuUsage(cpuBefore);
  return { cpu: user + system, elapsed: performance.now() - before };
}

/** Flat strings, made before anything is measured: they belong to the caller. */
export function referencesFor(count: number): string[] {
  return Array.from({ length: count }, (_, index) => Buffer.from(`TXN-${index + 1e9}`).toString('latin1'));
}

export async function heapInUse(): Promise<number> {
  if (!globalThis.gc) throw new Error('Run this with --expose-gc.');
  // What hangs on finalizers goes in a later turn, and then in the next collection.
  for (let round = 0; round < 5; round++) {
    await sleep(20);
    globalThis.gc();
  }
  return process.memoryUsage().heapUsed;
}
