import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import type { Journal, JournalEntry } from '../../../../src/journal/index.ts';
import type { JournalKind } from '../journal-kinds.ts';
import { openJournal, prepareJournal } from '../journals.ts';
import { seededRandom } from '../seeded-random.ts';
import { WorkerPool } from '../worker-pool.ts';
import { checkOrders, checkTold, type LoggedOrderEvent } from './check.ts';
import { OrderService } from './service.ts';
import { killPoints, type OrderKillPlan, type ShopSettings } from './settings.ts';

export interface OrderRunOptions {
  readonly kind: JournalKind;
  /** The URL of a database. SQLite gets its own file. */
  readonly url?: string | undefined;
  readonly orders: number;
  readonly workers: number;
  readonly kills: number;
  readonly seed: number;
  readonly isControl?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface OrderRunResult {
  readonly kind: JournalKind;
  readonly orders: number;
  readonly kills: number;
  readonly killsAt: ReadonlyMap<string, number>;
  /** How many payments the service has begun, and how many orders are paid. */
  readonly made: number;
  readonly paid: number;
  readonly paidTwice: number;
  readonly resolved: number;
  readonly violations: readonly string[];
  readonly seconds: number;
}

/** What is left is swept and reviewed within seconds, but for a machine that is very busy. In milliseconds. */
const MAX_SETTLING = 120_000;

const LEASE = 1_500;

const eventSchema = z.object({
  at: z.number(),
  generation: z.number(),
  event: z.string(),
  order: z.optional(z.string()),
  key: z.optional(z.string()),
  reference: z.optional(z.string()),
  reason: z.optional(z.string()),
  message: z.optional(z.string()),
});

/** Processes press, sweep and are killed. Then their logs and the journal are compared with the service's ledger. */
export async function runOrderProof(options: OrderRunOptions): Promise<OrderRunResult> {
  const startedAt = performance.now();
  const { kind, seed, kills, orders, workers, isControl = false, signal } = options;
  const folder = mkdtempSync(join(tmpdir(), 'payments-orders-'));
  mkdirSync(join(folder, 'shop'));
  const place = options.url ?? join(folder, 'journal.db');
  const pool = new WorkerPool<ShopSettings>({
    program: new URL('shop.ts', import.meta.url),
    folder,
    kills,
    planKill: (generation) => planKill(seed, kind, generation),
    signal,
  });
  const service = new OrderService(seed, (point, generation) => pool.onRequest(point, generation));
  const baseUrl = await service.start();
  try {
    await prepareJournal(kind, place);
    const { journal, close } = await openJournal(kind, place, {
      lease: LEASE,
      other: true,
      aroundCommit: (commit) => commit(),
    });
    let isSettling = false;
    let isStopping = false;
    const settings = { seed, kind, place, baseUrl, folder, orders, lease: LEASE, isControl };
    const shop = Array.from({ length: workers }, async (_, slot) => {
      while (!isStopping && !signal?.aborted) await pool.runWorker({ ...settings, slot, isSettling });
    });
    try {
      const isBusy = () => pool.counts.kills < kills || service.made.length <= orders;
      while (!signal?.aborted && isBusy()) await Promise.race([sleep(100), Promise.all(shop)]);
      isSettling = true;
      // What was begun last becomes final, and is swept, and a person looks at what is left. The control has no orders.
      const settledBy = performance.now() + (isControl ? 0 : MAX_SETTLING);
      while (!signal?.aborted && performance.now() < settledBy) {
        pool.send('settle');
        await Promise.race([sleep(500), Promise.all(shop)]);
        const events = readEvents(folder);
        const settled = events.filter(({ event }) => event === 'settled').map(({ generation }) => generation);
        // A press that is still under way can begin a payment.
        if (pool.running.some((generation) => !settled.includes(generation))) continue;
        const entries = await listEntries(journal);
        const isSettled = entries.every(({ state }) => state !== 'begun' && state !== 'unknown');
        if (isSettled && checkTold({ made: service.made, entries, events }).length === 0) break;
      }
      isStopping = true;
      const stopper = setInterval(() => pool.send('stop'), 500);
      pool.send('stop');
      await Promise.all(shop);
      clearInterval(stopper);
      const { counts } = pool;
      const events = readEvents(folder);
      return {
        kind,
        orders,
        kills: counts.kills,
        killsAt: counts.killsAt,
        made: service.made.length,
        resolved: events.filter(({ event }) => event === 'resolved').length,
        ...checkOrders({ made: service.made, entries: await listEntries(journal), events }),
        seconds: (performance.now() - startedAt) / 1000,
      };
    } finally {
      await close();
    }
  } finally {
    pool.killAll();
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function listEntries(journal: Journal): Promise<JournalEntry[]> {
  const entries: JournalEntry[] = [];
  for await (const entry of journal.list()) entries.push(entry);
  return entries;
}

function readEvents(folder: string): LoggedOrderEvent[] {
  return readdirSync(join(folder, 'shop'))
    .flatMap((name) =>
      readFileSync(join(folder, 'shop', name), 'utf8')
        .split('\n')
        .slice(0, -1),
    )
    .map((line) => eventSchema.parse(JSON.parse(line)))
    .sort((one, other) => one.at - other.at);
}

/** How long a process lives at most, in milliseconds. */
const MAX_LIFE = 2_500;

/** One process in three is killed at a random time. The others are killed at each point in turn. */
function planKill(seed: number, kind: JournalKind, generation: number): OrderKillPlan {
  const at = seededRandom(seed, 'kill', generation);
  if (generation % 3 === 0) return { kind: 'after', delay: at * MAX_LIFE };
  const points = killPoints
    .filter((point) => kind === 'sqlite' || !point.endsWith('commit'))
    .sort((one, other) => seededRandom(seed, 'point', one) - seededRandom(seed, 'point', other));
  const point = points[Math.floor((generation * 2) / 3) % points.length] ?? 'accepted';
  const turns = Math.floor(seededRandom(seed, 'turns', generation) * 6);
  const most = RARE.test(point) ? 2 : 12;
  return { kind: 'at', point, nth: 1 + Math.floor(at * most), turns, latest: MAX_LIFE };
}

/** What a process reaches a few times at most. */
const RARE = /onPaid|name|confirm|resolve|final|end|attention/;
