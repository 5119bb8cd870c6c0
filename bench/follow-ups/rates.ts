import { printTable, ratio } from '../table.ts';
import { Child } from './child.ts';
import { printProgress } from './progress.ts';
import { FINAL_EVERY } from './schedule.ts';
import { seedPayments } from './seed.ts';
import type { Servers } from './servers.ts';
import type { StoreAddress } from './stores.ts';
import { seedBullmq, seedByHand, type WayAddress } from './ways.ts';

/** A way to follow payments, in one process or in two. */
export interface Contender {
  name: string;
  way: WayAddress['way'];
  kind: StoreAddress['kind'];
  processes: number;
}

/** A contender, and how many payments are open. */
export interface MeasuredContender extends Contender {
  payments: number;
}

/** What a contender reached. CPU is in microseconds for each check. */
export interface Rate {
  checksPerSecond: number;
  /** Of the processes that follow payments. SQLite is a part of them. */
  cpu: number;
  /** Of the database's processes. */
  databaseCpu: number | undefined;
  /** How often the payment that was checked most was checked. */
  most: number;
}

const ways: readonly Omit<Contender, 'processes'>[] = [
  { name: 'payments.check alone, no store', way: 'checks-alone', kind: 'sqlite' },
  { name: 'follow-ups, SQLite', way: 'follow-ups', kind: 'sqlite' },
  { name: 'follow-ups, PostgreSQL', way: 'follow-ups', kind: 'postgres' },
  { name: 'SKIP LOCKED by hand, PostgreSQL', way: 'by-hand', kind: 'postgres' },
  { name: 'follow-ups, Redis', way: 'follow-ups', kind: 'redis' },
  { name: "BullMQ's delayed jobs, Redis", way: 'bullmq', kind: 'redis' },
];

export function listContenders(kinds: readonly StoreAddress['kind'][]): Contender[] {
  const there = ways.filter(({ kind }) => kinds.includes(kind));
  return there.flatMap((way) => {
    const two = way.way === 'checks-alone' ? [] : [{ ...way, processes: 2 }];
    return [{ ...way, processes: 1 }, ...two];
  });
}

/** The part of the checks that is not measured: connections are made, and code is compiled. */
const WARM_UP = 0.2;

/** Lets new processes check payments that are all due, and measures them in the middle. */
export async function measureRate(
  { way, kind, processes, name, payments }: MeasuredContender,
  servers: Servers,
  checks: number,
): Promise<Rate> {
  const { service, baseUrl } = servers;
  const store = servers.createAddress(kind);
  if (way === 'follow-ups') await seedPayments(store, { count: payments, due: payments, baseUrl });
  if (way === 'by-hand') await seedByHand(store, payments);
  if (way === 'bullmq') await seedBullmq(store, payments);
  printProgress(`${name}, ${processes} processes`);
  await service.request('reset', { payments, finalEvery: FINAL_EVERY });

  using closing = new DisposableStack();
  const workers: Child[] = [];
  for (let count = 0; count < processes; count++)
    workers.push(closing.use(await Child.start('worker.ts', { way, store, baseUrl })));
  const read = async () => {
    const used = await Promise.all(workers.map((worker) => worker.request<number>('readCpu')));
    const { total, most } = await service.request<{ total: number; most: number }>('readCounts');
    const cpu = used.reduce((sum, each) => sum + each, 0);
    return { at: performance.now(), total, most, cpu, database: await servers.readCpu(kind) };
  };

  await Promise.all(workers.map((worker) => worker.request('start')));
  await service.request('waitFor', Math.floor(checks * WARM_UP));
  const before = await read();
  await service.request('waitFor', checks);
  const after = await read();
  await Promise.all(workers.map((worker) => worker.request('stop')));
  await servers.drop(store);
  const made = after.total - before.total;
  const { database: databaseBefore } = before;
  return {
    checksPerSecond: (made * 1_000) / (after.at - before.at),
    cpu: (after.cpu - before.cpu) / made,
    databaseCpu:
      databaseBefore === undefined || after.database === undefined
        ? undefined
        : (after.database - databaseBefore) / made,
    most: after.most,
  };
}

/** Returns the best of each figure: other load on the machine can only make it worse. */
export function takeBest(one: Rate | undefined, other: Rate): Rate {
  if (!one) return other;
  return {
    checksPerSecond: Math.max(one.checksPerSecond, other.checksPerSecond),
    cpu: Math.min(one.cpu, other.cpu),
    databaseCpu:
      one.databaseCpu === undefined || other.databaseCpu === undefined
        ? undefined
        : Math.min(one.databaseCpu, other.databaseCpu),
    most: Math.max(one.most, other.most),
  };
}

export type MeasuredRate = MeasuredContender & { rate: Rate | undefined };

export function printRates(
  rows: readonly MeasuredRate[],
  { checks, rounds }: { checks: number; rounds: number },
): void {
  const findByHand = (row: MeasuredRate) =>
    rows.find(({ way, processes }) => way === 'by-hand' && processes === row.processes)?.rate;
  console.log(
    `\nThe next table is of ${rounds} rounds of ${checks.toLocaleString('en-US')} checks: the best of each figure, since other load can only make it worse.`,
  );
  const alone = rows.find(({ way }) => way === 'checks-alone')?.rate;
  const title = `All payments are due, and 1 of ${FINAL_EVERY} is final: checks a second, and CPU for each check`;
  printTable(title, rows, [
    ['', ({ name }) => name],
    ['processes', ({ processes }) => String(processes)],
    ['checks/s', ({ rate }) => rate?.checksPerSecond],
    ['to alone', ({ rate }) => ratio(rate?.checksPerSecond, alone?.checksPerSecond)],
    ['to by hand', (row) => ratio(row.rate?.checksPerSecond, findByHand(row)?.checksPerSecond)],
    ['CPU us', ({ rate }) => rate?.cpu],
    ['database CPU us', ({ rate }) => rate?.databaseCpu],
    ['both, to by hand', (row) => ratio(sumCpu(row.rate), sumCpu(findByHand(row)))],
    ['most for one payment', ({ rate }) => rate && String(rate.most)],
  ]);
}

/** Prints the same follow-ups with different numbers of open payments. */
export function printGrowth(
  rows: readonly MeasuredRate[],
  { checks, rounds }: { checks: number; rounds: number },
): void {
  const title = `Checks a second by the number of open payments, all of them due: the best of ${rounds} rounds of ${checks.toLocaleString('en-US')} checks`;
  printTable(title, rows, [
    ['', ({ name }) => name],
    ['open payments', ({ payments }) => payments.toLocaleString('en-US')],
    ['checks/s', ({ rate }) => rate?.checksPerSecond],
    ['CPU us', ({ rate }) => rate?.cpu],
    ['database CPU us', ({ rate }) => rate?.databaseCpu],
  ]);
}

const sumCpu = (rate: Rate | undefined) => rate && rate.cpu + (rate.databaseCpu ?? 0);
