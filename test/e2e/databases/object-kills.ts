/**
 * Charges orders inside a Durable Object while workerd is killed with SIGKILL and started again, then compares the journal
 * and every result with the ledger of a service in this process.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import type { JournalEntry } from '../../../src/stores/index.ts';
import { sqliteJournal } from '../../../src/stores/sqlite/index.ts';
import { judgeCalls, judgeEntries, judgeKeys } from '../crash/judge.ts';
import type { LoggedEvent } from '../crash/log.ts';
import { API_KEY, EMAIL, seededRandom } from '../crash/plan.ts';
import { startService } from '../crash/service.ts';
import { type ChargeResult, startWorkerShop } from './worker-shop.ts';

/** How often an order is called, by the result of its last call. An unresolved key is called again too. */
const MAX_CALLS = { completed: 1, conflict: 1, rejected: 3, unknown: 2, not_sent: 20, failed: 3 };

/** Orders that are called at the same time. */
const CONCURRENCY = 8;

/** In milliseconds. */
const LEASE = 1_000;
const TIMEOUT = 500;

export interface ObjectKillsReport {
  readonly keys: number;
  readonly completed: number;
  readonly unknown: number;
  readonly kills: number;
  readonly charges: number;
  readonly doubleCharges: readonly string[];
  /** What contradicts the ledger. */
  readonly violations: readonly string[];
}

/** Charges new orders until workerd was killed `kills` times, and then those that are left. */
export async function killObject({
  seed,
  kills,
  hasJournal = true,
}: {
  seed: number;
  kills: number;
  hasJournal?: boolean;
}): Promise<ObjectKillsReport> {
  let generation = 1;
  let keys = 0;
  let isRunning = true;
  let onEvent: (point: string) => void = () => {};
  const service = await startService({ seed, onRequest: (point) => onEvent(point) });
  const shop = await startWorkerShop({ baseUrl: service.baseUrl, apiKey: API_KEY });
  const calls: LoggedEvent[] = [];

  /** Calls an order until its last result. A call whose process was killed has none. */
  const chargeOrder = async (name: string) => {
    const counts: Partial<Record<ChargeResult['result'], number>> = {};
    for (let number = 1; ; number++) {
      const call = `${name}-${number}`;
      const charged = await callShop(name, call);
      if (!charged) continue;
      const { result, reference } = charged;
      const count = (counts[result] ?? 0) + 1;
      counts[result] = count;
      const logged = result === 'completed' ? 'replayed' : result;
      calls.push({ event: 'called', at: Date.now(), generation, name, call, result: logged, reference });
      if (count >= MAX_CALLS[result]) return;
    }
  };
  const callShop = async (order: string, call: string): Promise<ChargeResult | undefined> => {
    const input = { amount: '25.50', customer_email: EMAIL, lease: LEASE, timeout: TIMEOUT };
    const during = generation;
    try {
      const key = hasJournal ? order : null;
      return await shop.charge('object', { ...input, call, generation, order, key });
    } catch (error) {
      if (generation === during && isRunning) throw error;
      while (!isRunning) await sleep(10);
      return undefined;
    }
  };
  const work = async () => {
    while (generation <= kills) await chargeOrder(`key-${keys++}`);
  };

  const kill = async () => {
    const at = seededRandom(seed, 'kill', generation);
    // A third of the kills each: when the service has a charge, when its response leaves, and at any time.
    const point = [undefined, 'request received', 'response sent'][Math.floor(at * 3)];
    const due = Promise.withResolvers<void>();
    let left = 1 + Math.floor(seededRandom(seed, 'which', generation) * 24);
    if (point === undefined) setTimeout(due.resolve, seededRandom(seed, 'when', generation) * 500);
    else
      onEvent = (seen) => {
        if (seen === point && --left === 0) due.resolve();
      };
    await due.promise;
    onEvent = () => {};
    isRunning = false;
    await shop.kill();
    await shop.start();
    generation++;
    isRunning = true;
  };

  try {
    const working = Promise.all(Array.from({ length: CONCURRENCY }, work));
    // It is awaited below.
    working.catch(() => {});
    while (generation <= kills) await Promise.race([kill(), working.then(() => sleep(1_000))]);
    await working;
    await sleep(LEASE);
    const rows = z.array(z.array(z.record(z.string(), z.unknown())));
    const handle = {
      batch: async (statements: unknown) => rows.parse(await shop.run('object', 'batch', statements)),
    };
    const entries: JournalEntry[] = [];
    if (hasJournal)
      for await (const entry of sqliteJournal(handle, { lease: LEASE }).list()) entries.push(entry);
    const { charges } = service;
    const count = (state: JournalEntry['state']) => entries.filter((entry) => entry.state === state).length;
    return {
      keys,
      kills,
      charges: charges.length,
      completed: count('completed'),
      unknown: count('unknown'),
      doubleCharges: judgeKeys({ charges }),
      violations: [
        ...judgeEntries({ charges, entries }),
        ...judgeCalls({ charges, entries, events: calls }),
        ...(count('begun') > 0 ? ['an attempt is still in progress'] : []),
      ],
    };
  } finally {
    await shop.stop();
    await service.stop();
  }
}
