/**
 * Charges orders inside a Durable Object while workerd is killed with SIGKILL and started again, then compares the journal
 * and every result with the ledger of a service in this process.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import { API_KEY } from '../crash/api-key.ts';
import type { LoggedCall } from '../crash/call-log.ts';
import { checkKeys, findDoubleCharges, type StateCounts } from '../crash/check-run.ts';
import { createInput, createOrder, type Order } from '../crash/orders.ts';
import { seededRandom } from '../crash/seeded-random.ts';
import { startCrashService } from '../crash/service.ts';
import { type ChargeResult, startWorkerShop } from './worker-shop.ts';

/** How often an order is called, by the result of its last call. An unresolved key is called again too. */
const MAX_CALLS = { completed: 1, conflict: 1, rejected: 3, unknown: 2, not_sent: 20, failed: 3 };

/** Orders that are called at the same time. */
const CONCURRENCY = 8;

/** In milliseconds. */
const LEASE = 1_000;
const TIMEOUT = 500;

export interface ObjectKillsReport extends StateCounts {
  readonly keys: number;
  readonly kills: number;
  readonly charges: number;
  readonly doubleCharges: readonly unknown[];
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
  const service = await startCrashService(seed, (point) => onEvent(point));
  const shop = await startWorkerShop({ baseUrl: service.baseUrl, apiKey: API_KEY });
  const calls: LoggedCall[] = [];

  /** Calls an order until its last result. A call whose process was killed has none. */
  const chargeOrder = async (order: Order) => {
    const counts: Partial<Record<LoggedCall['result'], number>> = {};
    for (let number = 1; ; number++) {
      const call = `${order.index}-${number}`;
      const charged = await callShop(order, call);
      if (!charged) continue;
      const { result, reference, amount } = charged;
      const count = (counts[result] ?? 0) + 1;
      counts[result] = count;
      const isLast = count >= MAX_CALLS[result];
      calls.push({ index: order.index, slot: 0, call, result, reference, amount, hasWaited: false, isLast });
      if (isLast) return;
    }
  };
  const callShop = async ({ index, key }: Order, call: string): Promise<ChargeResult | undefined> => {
    const { amount, customer_email } = createInput({ index, key }, false);
    const given = { amount, customer_email, call, generation, order: key, lease: LEASE, timeout: TIMEOUT };
    const during = generation;
    try {
      return await shop.charge('object', { ...given, key: hasJournal ? key : null });
    } catch (error) {
      if (generation === during && isRunning) throw error;
      while (!isRunning) await sleep(10);
      return undefined;
    }
  };
  const work = async () => {
    while (generation <= kills) await chargeOrder(createOrder(keys++));
  };

  const kill = async () => {
    const at = seededRandom(seed, 'kill', generation);
    // A third of the kills each: when the service has a charge, when its response leaves, and at any time.
    const point = [undefined, 'accepted', 'response sent'][Math.floor(at * 3)];
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
    const found = hasJournal
      ? await checkKeys(sqliteJournal(handle, { lease: LEASE }), { keys, service, calls })
      : { completed: 0, rejected: 0, unknown: 0, notCharged: 0, violations: [] };
    const doubleCharges = findDoubleCharges({ keys, service });
    return { keys, kills, charges: service.charges.length, doubleCharges, ...found };
  } finally {
    await shop.stop();
    await service.stop();
  }
}
