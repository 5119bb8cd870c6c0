import { setTimeout as sleep } from 'node:timers/promises';
import { createFollowUps } from '../../src/follow-ups/index.ts';
import { PaymentsClient } from '../../src/index.ts';
import { getRecords } from '../../src/journal/core.ts';
import { median } from '../median.ts';
import { readValue, serveParent } from './child.ts';
import { polling } from './schedule.ts';
import { type OpenStore, openStore, type Statements, type StoreAddress } from './stores.ts';

/** A process that sweeps on command. */
const { baseUrl }: { baseUrl: string } = readValue();

/** What one sweep of everything that is due did. */
export interface Swept {
  checked: number;
  final: number;
  due: number;
  statements: Statements;
}

/** Bytes that a sweep took at most, over what the process had before. */
export interface SweepMemory {
  /** Of the heap, after a full collection. */
  heap: number;
  /** Of the whole process. */
  rss: number;
  /** How many checks it made. */
  checked: number;
}

/** What `run` needed while payments became due one by one. */
export interface RunCost {
  checks: number;
  statements: Statements;
  /** Microseconds of the process. */
  cpu: number;
  milliseconds: number;
}

/** Microseconds that each takes, as medians. */
export interface StepTimes {
  /** Of a sweep in which nothing is due. */
  sweep: number;
  claimDue: number;
  countDue: number;
}

/** There is a full collection after so many checks, or ten in a small sweep. */
const CHECKS_PER_COLLECTION = 1_000;
const SAMPLE_INTERVAL = 10;

serveParent({
  async sweep(value): Promise<Swept> {
    await using store = await openStore(readStore(value), true);
    const { followUps } = createSweeper(store);
    const { checked, final, due } = await followUps.sweep();
    return { checked, final, due, statements: store.statements };
  },

  async measureMemory(value): Promise<SweepMemory> {
    const { expected } = Object(value);
    await using store = await openStore(readStore(value));
    const interval = Math.min(CHECKS_PER_COLLECTION, Math.ceil(expected / 10));
    let checks = 0;
    let heap = 0;
    const { followUps } = createSweeper(store, () => {
      checks += 1;
      if (checks % interval === 0) heap = Math.max(heap, readHeap());
    });
    await sleep(200);
    const before = { heap: readHeap(), rss: process.memoryUsage.rss() };
    let { rss } = before;
    const sampler = setInterval(() => {
      rss = Math.max(rss, process.memoryUsage.rss());
    }, SAMPLE_INTERVAL);
    const { checked } = await followUps.sweep();
    clearInterval(sampler);
    return { heap: heap - before.heap, rss: rss - before.rss, checked };
  },

  async measureRun(value): Promise<RunCost> {
    const { warmUp, duration } = Object(value);
    await using store = await openStore(readStore(value), true);
    let checks = 0;
    const { followUps } = createSweeper(store, () => {
      checks += 1;
    });
    const stop = new AbortController();
    const ended = followUps.run({ signal: stop.signal });
    await sleep(warmUp);
    const before = { checks, ...store.statements, at: performance.now() };
    const cpuBefore = process.cpuUsage();
    await sleep(duration);
    const { user, system } = process.cpuUsage(cpuBefore);
    const { all, commits } = store.statements;
    const cost = {
      checks: checks - before.checks,
      statements: { all: all - before.all, commits: commits - before.commits },
      cpu: user + system,
      milliseconds: performance.now() - before.at,
    };
    stop.abort();
    await ended;
    return cost;
  },

  async measureSteps(value): Promise<StepTimes> {
    await using store = await openStore(readStore(value));
    const { followUps, records } = createSweeper(store);
    const kind = 'key' as const;
    const claim = { kind, limit: polling.maxConcurrency, lease: 40_000 };
    return {
      sweep: await measure(500, () => followUps.sweep()),
      claimDue: await measure(500, () => records.claimDue(claim)),
      countDue: await measure(500, () => records.countDue(kind)),
    };
  },

  async measureCountDue(value): Promise<number> {
    await using store = await openStore(readStore(value));
    return await measure(20, () => getRecords(store.journal).countDue('key'));
  },
});

function readStore(value: unknown): StoreAddress {
  return Object(value).store;
}

function createSweeper({ journal }: OpenStore, onCheck = () => {}) {
  const payments = new PaymentsClient({
    apiKey: 'sk_test_bench',
    baseUrl,
    polling,
    journal,
    onEvent: ({ type }) => {
      if (type === 'poll') onCheck();
    },
  });
  const followUps = createFollowUps({ payments, journal, onFinal() {}, onAttention() {} });
  return { followUps, records: getRecords(journal) };
}

function readHeap(): number {
  if (!globalThis.gc) throw new Error('Run this with --expose-gc.');
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

/** Returns the median of the later half of the times, in microseconds: code is compiled during the first. */
async function measure(times: number, step: () => Promise<unknown>): Promise<number> {
  const durations: number[] = [];
  for (let count = 0; count < times; count++) {
    const startedAt = performance.now();
    await step();
    durations.push((performance.now() - startedAt) * 1_000);
  }
  return median(durations.slice(times / 2));
}
