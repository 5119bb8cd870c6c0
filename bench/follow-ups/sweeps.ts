import { printTable } from '../table.ts';
import { Child } from './child.ts';
import type { CheckCost } from './day.ts';
import { explainPostgres, explainSqlite, type Plan } from './plans.ts';
import { printProgress } from './progress.ts';
import { FINAL_EVERY, polling } from './schedule.ts';
import { type OpenPayments, seedPayments } from './seed.ts';
import type { Servers } from './servers.ts';
import type { StoreAddress } from './stores.ts';
import type { RunCost, StepTimes, SweepMemory, Swept } from './sweeper.ts';

type Kind = StoreAddress['kind'];

const NAMES: Readonly<Record<Kind, string>> = { sqlite: 'SQLite', postgres: 'PostgreSQL', redis: 'Redis' };

interface Setting extends Omit<OpenPayments, 'baseUrl'> {
  kind: Kind;
  /** One payment in so many is final at its check. @default 0: none */
  finalEvery?: number;
  /** Of the service, in milliseconds. @default 0 */
  latency?: number;
}

/** Fills a new store, and lets a new process work on it. */
async function withStore<Result>(
  servers: Servers,
  { kind, finalEvery = 0, latency = 0, ...payments }: Setting,
  work: (store: StoreAddress, sweeper: Child) => Promise<Result>,
): Promise<Result> {
  const { baseUrl, service } = servers;
  const store = servers.createAddress(kind);
  await service.request('reset', { payments: payments.count, finalEvery, latency });
  await seedPayments(store, { ...payments, baseUrl });
  using sweeper = await startSweeper(servers);
  printProgress(`${NAMES[kind]}, ${formatCount(payments.count)} payments`);
  const result = await work(store, sweeper);
  printProgress('');
  await servers.drop(store);
  return result;
}

const startSweeper = ({ baseUrl }: Servers) => Child.start('sweeper.ts', { baseUrl }, ['--expose-gc']);

const formatCount = (count: number) => count.toLocaleString('en-US');

const listSizes = (payments: number) =>
  [payments / 100, payments / 10, payments].map((size) => Math.max(10, Math.round(size)));

/** How many payments a process sweeps before its memory is measured. */
const WARM_UP = 1_000;

export async function printSweepMemory(servers: Servers, payments: number): Promise<void> {
  const rows: ({ name: string; count: number } & SweepMemory)[] = [];
  await servers.setDurable(false);
  for (const kind of servers.kinds) {
    for (const count of listSizes(payments)) {
      const memory = await withStore(servers, { kind, count, due: count }, async (store, sweeper) => {
        const first = servers.createAddress(kind);
        await seedPayments(first, { count: WARM_UP, due: WARM_UP, baseUrl: servers.baseUrl });
        await sweeper.request('measureMemory', { store: first, expected: WARM_UP });
        return await sweeper.request<SweepMemory>('measureMemory', { store, expected: count });
      });
      rows.push({ name: NAMES[kind], count, ...memory });
    }
  }
  await servers.setDurable(true);
  const title = `A sweep of everything that is due: the most memory, over that of a process that has swept ${formatCount(WARM_UP)} payments`;
  printTable(title, rows, [
    ['store', ({ name }) => name],
    ['due payments', ({ count }) => formatCount(count)],
    ['checks', ({ checked }) => formatCount(checked)],
    ['live heap MB', ({ heap }) => heap / 1e6],
    ['RSS MB', ({ rss }) => rss / 1e6],
  ]);
}

export async function printEmptySweeps(servers: Servers, payments: number): Promise<void> {
  const rows: ({ name: string; count: number } & StepTimes)[] = [];
  const plans: Plan[] = [];
  const counts: { name: string; time: number }[] = [];
  const due = Math.ceil(payments / 10_000);
  for (const kind of servers.kinds) {
    for (const count of listSizes(payments)) {
      const times = await withStore(servers, { kind, count, due: 0 }, (store, sweeper) =>
        sweeper.request<StepTimes>('measureSteps', { store }),
      );
      rows.push({ name: NAMES[kind], count, ...times });
    }
    await withStore(servers, { kind, count: payments, due }, async (store) => {
      if (kind === 'postgres') plans.push(...(await explainPostgres(store, polling.maxConcurrency)));
      if (kind === 'sqlite') plans.push(...explainSqlite(store));
    });
    const time = await withStore(servers, { kind, count: payments, due: payments }, (store, sweeper) =>
      sweeper.request<number>('measureCountDue', { store }),
    );
    counts.push({ name: NAMES[kind], time });
  }
  printTable('A sweep in which nothing is due: medians', rows, [
    ['store', ({ name }) => name],
    ['open payments', ({ count }) => formatCount(count)],
    ['sweep us', ({ sweep }) => sweep],
    ['of it claimDue us', ({ claimDue }) => claimDue],
    ['countDue us', ({ countDue }) => countDue],
  ]);
  printTable(`What they read, with ${formatCount(payments)} open payments of which ${due} are due`, plans, [
    ['statement', ({ statement }) => statement],
    ['rows', ({ rows: read }) => read],
    ['pages of 8 kB', ({ pages }) => pages],
    ['through', ({ scans }) => scans],
  ]);
  printTable(`countDue, which ends a sweep, with all ${formatCount(payments)} due`, counts, [
    ['store', ({ name }) => name],
    ['us', ({ time }) => time],
  ]);
}

export async function printStatements(servers: Servers, payments: number): Promise<void> {
  const count = Math.min(payments, 2_000);
  const rows: { kind: Kind; pending: Swept; final: Swept }[] = [];
  for (const kind of servers.kinds) {
    const sweep = (finalEvery: number) =>
      withStore(servers, { kind, count, due: count, finalEvery }, (store, sweeper) =>
        sweeper.request<Swept>('sweep', { store }),
      );
    rows.push({ kind, pending: await sweep(0), final: await sweep(1) });
  }
  const perCheck = (figure: 'all' | 'commits', { statements, checked }: Swept) =>
    statements[figure] / checked;
  printTable(`Statements for each check, in a sweep of ${formatCount(count)} due payments`, rows, [
    ['store', ({ kind }) => NAMES[kind]],
    ['pending: statements', ({ pending }) => perCheck('all', pending)],
    ['of them commits', ({ pending }) => perCheck('commits', pending)],
    ['final: statements', ({ final }) => perCheck('all', final)],
    ['of them commits', ({ final }) => perCheck('commits', final)],
  ]);
}

/** How many payments become due in each second, and how long the service takes: as in a day of a million orders. */
const DUE_PER_SECOND = 100;
const LATENCY = 250;
const RUN_WARM_UP = 4_000;
const RUN_DURATION = 10_000;

/** Measures `run` with payments that become due one by one. */
export async function printRunCosts(servers: Servers, payments: number): Promise<CheckCost[]> {
  const seconds = (RUN_WARM_UP + RUN_DURATION) / 1_000 + 5;
  const count = Math.max(payments, DUE_PER_SECOND * seconds);
  const rows: (CheckCost & { checksPerSecond: number })[] = [];
  for (const kind of servers.kinds) {
    const setting = { kind, count, due: 0, duePerSecond: DUE_PER_SECOND, finalEvery: FINAL_EVERY };
    const row = await withStore(servers, { ...setting, latency: LATENCY }, async (store, sweeper) => {
      const databaseBefore = await servers.readCpu(kind);
      const times = { warmUp: RUN_WARM_UP, duration: RUN_DURATION };
      const { checks, statements, cpu, milliseconds } = await sweeper.request<RunCost>('measureRun', {
        store,
        ...times,
      });
      const databaseAfter = await servers.readCpu(kind);
      const { total } = await servers.service.request<{ total: number }>('readCounts');
      return {
        name: NAMES[kind],
        checksPerSecond: (checks * 1_000) / milliseconds,
        statements: statements.all / checks,
        commits: statements.commits / checks,
        cpu: cpu / checks,
        databaseCpu:
          databaseBefore === undefined || databaseAfter === undefined
            ? undefined
            : (databaseAfter - databaseBefore) / total,
      };
    });
    rows.push(row);
  }
  const title = `run, with ${formatCount(count)} open payments of which ${DUE_PER_SECOND} become due in each second; 1 of ${FINAL_EVERY} is final, the service takes ${LATENCY} ms`;
  printTable(title, rows, [
    ['store', ({ name }) => name],
    ['checks/s', ({ checksPerSecond }) => checksPerSecond],
    ['statements for each', ({ statements }) => statements],
    ['of them commits', ({ commits }) => commits],
    ['CPU us', ({ cpu }) => cpu],
    ['database CPU us', ({ databaseCpu }) => databaseCpu],
  ]);
  return rows;
}

/** Lets two processes sweep one store until nothing is due, and counts what the service saw. */
export async function printSharing(servers: Servers, payments: number): Promise<void> {
  const count = Math.min(payments, 10_000);
  const rows: { name: string; checked: [number, number]; total: number; most: number }[] = [];
  for (const kind of servers.kinds) {
    const setting = { kind, count, due: count, finalEvery: FINAL_EVERY };
    const row = await withStore(servers, setting, async (store, one) => {
      using other = await startSweeper(servers);
      const sweep = (sweeper: Child) => sweeper.request<Swept>('sweep', { store });
      const [first, second] = await Promise.all([sweep(one), sweep(other)]);
      const seen = await servers.service.request<{ total: number; most: number }>('readCounts');
      const checked: [number, number] = [first.checked, second.checked];
      return { name: NAMES[kind], checked, ...seen };
    });
    rows.push(row);
  }
  printTable(`Two processes sweep one store of ${formatCount(count)} due payments`, rows, [
    ['store', ({ name }) => name],
    ['checks of one', ({ checked: [one] }) => formatCount(one)],
    ['of the other', ({ checked: [, other] }) => formatCount(other)],
    ['GETs at the service', ({ total }) => formatCount(total)],
    ['most for one payment', ({ most }) => formatCount(most)],
  ]);
}
