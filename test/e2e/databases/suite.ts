/** What every database must do for a journal, through the handle that is under test. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { journalConformance } from '../../../src/developers/mock/index.ts';
import { createFollowUps } from '../../../src/follow-ups/index.ts';
import { JournalError, type PaymentsClient } from '../../../src/index.ts';
import { getRecords } from '../../../src/journal/core.ts';
import type { Journal } from '../../../src/stores/index.ts';
import { PATIENCE } from '../../helpers/patience.ts';
import { expectNoSecrets } from '../../helpers/secrets.ts';
import { catchError } from '../../helpers/service.ts';
import { runCrashProof } from '../crash/harness.ts';
import { findMissing } from '../crash/judge.ts';
import { type CallResult, callResultSchema, chargeAtOnce } from './charge-at-once.ts';
import { type CountingService, startCountingService } from './counting-service.ts';
import type { RunningDatabase, TestDatabase } from './database.ts';
import { API_KEY, chargeOrder, createClient, EMAIL, PHONE } from './shop.ts';

/** What {@link describeDatabase} takes besides the database. */
interface SuiteOptions {
  /** The kind that sends the same statements. More processes are killed there, for both. */
  statementsOf?: string;
}

/** A database that is running, and a service of its own: a journal belongs to one service. */
interface Shop {
  readonly running: RunningDatabase;
  readonly service: CountingService;
}

/** Tests a database of `kinds/`. `kind` is the name of its file. */
export function describeDatabase(kind: string, database: TestDatabase, options: SuiteOptions = {}): void {
  if (database.missing !== undefined) console.warn(`The tests of ${kind} are skipped: ${database.missing}`);
  describe.skipIf(database.missing !== undefined)(kind, () => {
    // The cases share one storage, and can run at the same time.
    const describeCases = database.conformsInTurn === undefined ? describe.concurrent : describe;
    describeCases('conforms', () => describeConformance(database));
    describe('protects charges', () => describeCharges(kind, database));
    if (database.oneProcess === undefined) describe('survives SIGKILL', () => describeCrashes(kind, options));
    else console.log(`${kind} is not tried in processes that are killed: ${database.oneProcess}`);
  });
}

/** Starts the database before the tests of a group, and stops it after them. */
function useDatabase(database: TestDatabase): () => RunningDatabase {
  let running: RunningDatabase | undefined;
  beforeAll(async () => {
    running = await database.start();
    await database.prepare(running.place);
  });
  afterAll(() => running?.stop());
  return () => {
    if (!running) throw new Error('The database is not running.');
    return running;
  };
}

function describeConformance(database: TestDatabase): void {
  const readRunning = useDatabase(database);
  const openStore = async (storage: string) => {
    const { journal, close } = await database.open(readRunning().place, {}, storage);
    return { store: getRecords(journal).store, close };
  };
  const cases = journalConformance(openStore);
  test.each(cases)('$name', ({ run }) => run());
}

/** How many callers charge one key at once, and in how many processes. */
const CALLERS = 100;
const PROCESSES = 4;

/** The lease of a shop that charges: no machine is so busy that it expires. In milliseconds. */
const LEASE = 120_000;

function describeCharges(kind: string, database: TestDatabase): void {
  const readRunning = useDatabase(database);
  let service: CountingService;
  beforeAll(async () => {
    service = await startCountingService();
  });
  afterAll(() => service?.stop());
  const useShop = (): Shop => ({ running: readRunning(), service });

  test(`charges once for ${CALLERS} callers of one key`, async () => {
    const { running } = useShop();
    const { place } = running;
    const key = 'order-of-all';
    const settings = { kind, place, baseUrl: service.baseUrl, key, callers: CALLERS / PROCESSES };
    const results =
      database.oneProcess === undefined
        ? await runProcesses(Array(PROCESSES).fill(settings))
        : await chargeAtOnce({ ...settings, callers: CALLERS }, async () => {});
    expect(results).toHaveLength(CALLERS);
    const [reference, ...others] = service.chargesFor(key);
    expect(others).toEqual([]);
    // A caller waits for the one that charges, and calls again if a busy database refused it.
    expect(results.filter((result) => result.reference !== reference)).toEqual([]);
  });

  test('sends nothing while the database is away', async () => {
    const { running, ...shop } = await openShop(database, useShop());
    expect(await shop.charge('order-before')).toBe(service.chargesFor('order-before')[0]);
    await running.takeAway();
    try {
      const error = await catchError(shop.charge('order-away'));
      expect(error).toBeInstanceOf(JournalError);
      expect(error).toMatchObject({ outcome: 'not_sent' });
      expectNoSecrets(error, { key: API_KEY, phone: PHONE, email: EMAIL });
      expect(service.chargesFor('order-away')).toEqual([]);
    } finally {
      await running.bringBack();
    }
    const reference = await chargeWhenBack(shop, 'order-away');
    expect(service.chargesFor('order-away')).toEqual([reference]);
    expect(await shop.charge('order-before')).toBe(service.chargesFor('order-before')[0]);
  });

  test.each([
    ['records a charge once the database is back', 'after the result'],
    ['keeps a charge through a short outage', 'before the result'],
  ])('%s', async (_, comesBack) => {
    const { running, ...shop } = await openShop(database, useShop());
    const key = `order-in-flight-back-${comesBack.replaceAll(' ', '-')}`;
    const release = service.hold(key);
    const charging = shop.charge(key);
    // An early failure is reported by the expectation below.
    charging.catch(() => {});
    await expect.poll(() => service.chargesFor(key)).toHaveLength(1);
    const [reference] = service.chargesFor(key);
    await running.takeAway();
    let isAway = true;
    try {
      if (comesBack === 'before the result') {
        await running.bringBack();
        isAway = false;
      }
      release();
      expect(await charging).toBe(reference);
    } finally {
      release();
      if (isAway) await running.bringBack();
    }
    const other = await openShop(database, useShop());
    await expect
      .poll(() => other.journal.read(key).catch(() => null), { interval: 200, timeout: PATIENCE })
      .toMatchObject({ state: 'completed', reference });
    expect([await shop.charge(key), await other.charge(key)]).toEqual([reference, reference]);
    expect(service.chargesFor(key)).toHaveLength(1);
    // The handle works again.
    await chargeWhenBack(shop, `${key}-next`);
  });

  test('loses no follow-up while the database is away', async () => {
    const { running, payments, journal, ...shop } = await openShop(database, useShop());
    const keys = ['order-follow-1', 'order-follow-2', 'order-follow-3'];
    for (const key of keys) await shop.charge(key);
    const delivered: string[] = [];
    const onFinal = ({ key }: { key: string }) => delivered.push(key);
    const followUps = createFollowUps({ payments, journal, onFinal, onAttention: () => {} });
    await running.takeAway();
    try {
      expect(await catchError(followUps.sweep())).toBeInstanceOf(JournalError);
      expect(delivered).toEqual([]);
    } finally {
      await running.bringBack();
    }
    const deadline = performance.now() + PATIENCE;
    while (!keys.every((key) => delivered.includes(key)) && performance.now() < deadline) {
      const swept = await settle(followUps.sweep());
      if ('error' in swept) expect(swept.error).toBeInstanceOf(JournalError);
      await sleep(100);
    }
    expect(delivered).toEqual(expect.arrayContaining(keys));
    for (const key of keys) {
      const { status, nextCheckAt } = (await journal.read(key)) ?? {};
      expect([status, nextCheckAt]).toEqual(['success', undefined]);
    }
  });

  test('keeps no secret and no detail of a customer', async () => {
    const { running, ...shop } = await openShop(database, useShop());
    await shop.charge('order-dumped');
    const dump = await database.dump(running.place);
    expect(dump).toContain('order-dumped');
    for (const secret of [API_KEY, API_KEY.slice('sk_test_'.length), EMAIL, PHONE, PHONE.replaceAll(' ', '')])
      expect(dump).not.toContain(secret);
  });
}

interface OpenShop extends Shop {
  readonly journal: Journal;
  readonly payments: PaymentsClient;
  charge(key: string): Promise<string>;
}

/** Opens a handle, as a process of the shop does. It is closed when the test ends. */
async function openShop(database: TestDatabase, { running, service }: Shop): Promise<OpenShop> {
  const journal = await openJournal(database, running);
  const polling = { initialDelay: 100, minDelay: 100, maxDelay: 200 };
  const payments = createClient({ baseUrl: service.baseUrl, journal, polling });
  onTestFinished(() => payments.close());
  return { running, service, journal, payments, charge: (key) => chargeOrder(payments, key) };
}

async function openJournal(database: TestDatabase, { place }: RunningDatabase): Promise<Journal> {
  const { journal, close } = await database.open(place, { lease: LEASE });
  onTestFinished(() => close());
  return journal;
}

/** Charges once the database is back. Until then nothing may be sent. */
async function chargeWhenBack({ charge }: Pick<OpenShop, 'charge'>, key: string): Promise<string> {
  const deadline = performance.now() + PATIENCE;
  for (;;) {
    const charged = await settle(charge(key));
    if ('value' in charged) return charged.value;
    expect(charged.error).toBeInstanceOf(JournalError);
    expect(charged.error).toMatchObject({ outcome: 'not_sent' });
    if (performance.now() > deadline) throw charged.error;
    await sleep(200);
  }
}

async function settle<T>(promise: Promise<T>): Promise<{ value: T } | { error: unknown }> {
  try {
    return { value: await promise };
  } catch (error) {
    return { error };
  }
}

const program = fileURLToPath(new URL('programs/charge-at-once.ts', import.meta.url));

/** Runs processes that begin to charge at once, and returns what all their callers got. */
async function runProcesses(settings: readonly object[]): Promise<CallResult[]> {
  const children = settings.map((each) => spawn(process.execPath, [program, JSON.stringify(each)]));
  onTestFinished(() => {
    for (const child of children) child.kill('SIGKILL');
  });
  const outputs = children.map(({ stderr }) => text(stderr));
  const ready = children.map(async ({ stdout }, index) => {
    const ended = outputs[index]?.then((output) => Promise.reject(new Error(output)));
    await Promise.race([once(stdout, 'data'), ended]);
  });
  await Promise.all(ready);
  for (const { stdin } of children) stdin.write('go\n');
  const results = await Promise.all(
    children.map(async (child, index) => {
      const printed = await text(child.stdout);
      if (printed === '') throw new Error(await outputs[index]);
      return z.array(callResultSchema).parse(JSON.parse(printed));
    }),
  );
  return results.flat();
}

/** The short form of `npm run crashproof`. */
function describeCrashes(kind: string, { statementsOf }: SuiteOptions): void {
  test('keeps its promises while processes are killed', async () => {
    const controller = new AbortController();
    onTestFinished(() => controller.abort());
    const kills = statementsOf === undefined ? 12 : 6;
    const { violations, counts } = await runCrashProof({ kind, kills, seed: 1, signal: controller.signal });
    expect(violations).toEqual([]);
    expect(findMissing(counts)).toEqual([]);
  });
}
