import { parseArgs } from 'node:util';
import { conditions } from '../conditions.ts';
import { printTable, ratio } from '../table.ts';
import { Child } from './child.ts';
import { type CheckCost, countChecks, printDay } from './day.ts';
import { explainPostgres, explainSqlite, type Plan } from './plans.ts';
import { printProgress } from './progress.ts';
import { type Contender, listContenders, measureRate, type Rate, takeBest } from './rates.ts';
import { FINAL_EVERY, polling } from './schedule.ts';
import { seedPayments } from './seed.ts';
import { type Servers, startServers } from './servers.ts';
import type { StoreAddress } from './stores.ts';
import type { StepTimes, SweepMemory, Swept } from './sweeper.ts';

interface Options {
  /** How many payments are open. */
  payments: number;
  /** After how many checks a rate has been measured. */
  checks: number;
  rounds: number;
}

type Kind = StoreAddress['kind'];

const NAMES: Readonly<Record<Kind, string>> = { sqlite: 'SQLite', postgres: 'PostgreSQL', redis: 'Redis' };

/** Measures what follow-ups of many open payments cost, beside a loop by hand and BullMQ. */
export async function benchFollowUps(args: string[]): Promise<void> {
  const options = parseOptions(args);
  const { payments, rounds } = options;
  console.log(
    `${conditions()} The service, the databases and the measured processes share them.\n` +
      `${formatCount(payments)} open payments. The service is in a process of its own, over loopback, and responds at once. Each measurement is in fresh\n` +
      `processes, in ${rounds} rounds with the others where there is a rate: the best of each figure, since other load can only make it worse.\n` +
      'PostgreSQL, SQLite and Redis (appendfsync always) wait for the disk at each write. HTTP is through fetch, the default.',
  );
  await using closing = new AsyncDisposableStack();
  const servers = await startServers(closing);
  if (!servers.kinds.includes('redis'))
    console.log('redis-server is not on the PATH: Redis and BullMQ are left out.');

  await printSweepMemory(servers, payments);
  await printEmptySweeps(servers, payments);
  const statements = await printStatements(servers, payments);
  await printSharing(servers, payments);
  const rates = await measureRates(servers, options);
  printRates(rates);
  printDay(listCosts(servers, statements, rates), countChecks());
}

function parseOptions(args: string[]): Options {
  const options = {
    payments: { type: 'string', default: '100000' },
    checks: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '3' },
  } as const;
  const { values } = parseArgs({ args, options });
  const [payments, checks, rounds] = [values.payments, values.checks, values.rounds].map(Number);
  const isValid = [payments, checks, rounds].every((value) => Number.isInteger(value) && Number(value) > 0);
  if (isValid && payments && checks && rounds && payments >= 200)
    return { payments, checks: Math.min(checks, payments * 0.75), rounds };
  throw new Error('--payments must be a whole number, 200 or more; --checks and --rounds ones of 1 or more.');
}

const formatCount = (count: number) => count.toLocaleString('en-US');

/** Fills a new store, and lets a new process work on it. */
async function withStore<Result>(
  servers: Servers,
  { kind, count, due, finalEvery = 0 }: { kind: Kind; count: number; due: number; finalEvery?: number },
  work: (store: StoreAddress, sweeper: Child) => Promise<Result>,
): Promise<Result> {
  const { baseUrl, service } = servers;
  const store = servers.createAddress(kind);
  await seedPayments(store, { count, due, baseUrl });
  await service.request('reset', { payments: count, finalEvery });
  using sweeper = await startSweeper(servers);
  printProgress(`${NAMES[kind]}, ${formatCount(count)} payments`);
  const result = await work(store, sweeper);
  printProgress('');
  await servers.drop(store);
  return result;
}

const startSweeper = ({ baseUrl }: Servers) => Child.start('sweeper.ts', { baseUrl }, ['--expose-gc']);

const listSizes = (payments: number) =>
  [payments / 100, payments / 10, payments].map((size) => Math.max(10, Math.round(size)));

async function printSweepMemory(servers: Servers, payments: number): Promise<void> {
  const rows: ({ name: string; count: number } & SweepMemory)[] = [];
  const warmUp = Math.min(1_000, payments);
  for (const kind of servers.kinds) {
    const first = servers.createAddress(kind);
    for (const count of listSizes(payments)) {
      await seedPayments(first, { count: warmUp, due: warmUp, baseUrl: servers.baseUrl });
      const memory = await withStore(servers, { kind, count, due: count }, async (store, sweeper) => {
        await sweeper.request('measureMemory', { store: first, expected: warmUp });
        return await sweeper.request<SweepMemory>('measureMemory', { store, expected: count });
      });
      await servers.drop(first);
      rows.push({ name: NAMES[kind], count, ...memory });
    }
  }
  const title = `A sweep of everything that is due: the most memory, over that of a process that has swept ${formatCount(warmUp)} payments`;
  printTable(title, rows, [
    ['store', ({ name }) => name],
    ['due payments', ({ count }) => formatCount(count)],
    ['checks', ({ checked }) => formatCount(checked)],
    ['live heap MB', ({ heap }) => heap / 1e6],
    ['RSS MB', ({ rss }) => rss / 1e6],
  ]);
}

async function printEmptySweeps(servers: Servers, payments: number): Promise<void> {
  const rows: ({ name: string; count: number } & StepTimes)[] = [];
  const plans: Plan[] = [];
  const counts: { name: string; time: number }[] = [];
  const [few = 0] = listSizes(payments);
  for (const kind of servers.kinds) {
    for (const count of listSizes(payments)) {
      const times = await withStore(servers, { kind, count, due: 0 }, (store, sweeper) =>
        sweeper.request<StepTimes>('measureSteps', { store }),
      );
      rows.push({ name: NAMES[kind], count, ...times });
    }
    const due = Math.ceil(few / 100);
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
  printTable(
    `What they read, with ${formatCount(payments)} open payments of which ${Math.ceil(few / 100)} are due`,
    plans,
    [
      ['statement', ({ statement }) => statement],
      ['rows', ({ rows: read }) => read],
      ['pages of 8 kB', ({ pages }) => pages],
      ['through', ({ scans }) => scans],
    ],
  );
  printTable(`countDue, which ends a sweep, with all ${formatCount(payments)} due`, counts, [
    ['store', ({ name }) => name],
    ['us', ({ time }) => time],
  ]);
}

/** Statements for each check, by what the check found. */
interface StatementCounts {
  kind: Kind;
  pending: Swept;
  final: Swept;
}

async function printStatements(servers: Servers, payments: number): Promise<StatementCounts[]> {
  const count = Math.min(payments, 2_000);
  const counts: StatementCounts[] = [];
  for (const kind of servers.kinds) {
    const sweep = (finalEvery: number) =>
      withStore(servers, { kind, count, due: count, finalEvery }, (store, sweeper) =>
        sweeper.request<Swept>('sweep', { store }),
      );
    counts.push({ kind, pending: await sweep(0), final: await sweep(1) });
  }
  const of = (figure: 'all' | 'commits', { statements, checked }: Swept) => statements[figure] / checked;
  printTable(`Statements for each check, in a sweep of ${formatCount(count)}`, counts, [
    ['store', ({ kind }) => NAMES[kind]],
    ['pending: statements', ({ pending }) => of('all', pending)],
    ['of them commits', ({ pending }) => of('commits', pending)],
    ['final: statements', ({ final }) => of('all', final)],
    ['of them commits', ({ final }) => of('commits', final)],
  ]);
  return counts;
}

/** Lets two processes sweep one store until nothing is due, and counts what the service saw. */
async function printSharing(servers: Servers, payments: number): Promise<void> {
  const count = Math.min(payments, 10_000);
  const rows: { name: string; checked: [number, number]; total: number; most: number }[] = [];
  for (const kind of servers.kinds) {
    const row = await withStore(
      servers,
      { kind, count, due: count, finalEvery: FINAL_EVERY },
      async (store, one) => {
        using other = await startSweeper(servers);
        const sweep = (sweeper: Child) => sweeper.request<Swept>('sweep', { store });
        const [first, second] = await Promise.all([sweep(one), sweep(other)]);
        const seen = await servers.service.request<{ total: number; most: number }>('readCounts');
        const checked: [number, number] = [first.checked, second.checked];
        return { name: NAMES[kind], checked, ...seen };
      },
    );
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

type MeasuredRate = Contender & { rate: Rate | undefined };

async function measureRates(
  servers: Servers,
  { payments, checks, rounds }: Options,
): Promise<MeasuredRate[]> {
  const rows: MeasuredRate[] = listContenders(servers.kinds).map((contender) => ({
    ...contender,
    rate: undefined,
  }));
  for (let round = 0; round < rounds; round++) {
    for (const row of rows)
      row.rate = takeBest(row.rate, await measureRate(row, servers, { payments, checks }));
  }
  printProgress('');
  return rows;
}

function printRates(rows: readonly MeasuredRate[]): void {
  const byHand = (row: MeasuredRate) =>
    rows.find(({ way, processes }) => way === 'by-hand' && processes === row.processes)?.rate;
  printTable(
    `All payments are due, and 1 of ${FINAL_EVERY} is final: checks a second, and CPU for each check`,
    rows,
    [
      ['', ({ name }) => name],
      ['processes', ({ processes }) => String(processes)],
      ['checks/s', ({ rate }) => rate?.checksPerSecond],
      ['to by hand', (row) => ratio(row.rate?.checksPerSecond, byHand(row)?.checksPerSecond)],
      ['CPU us', ({ rate }) => rate?.cpu],
      ['database CPU us', ({ rate }) => rate?.databaseCpu],
      ['both, to by hand', (row) => ratio(sumCpu(row.rate), sumCpu(byHand(row)))],
      ['most for one payment', ({ rate }) => rate && formatCount(rate.most)],
    ],
  );
}

const sumCpu = (rate: Rate | undefined) => rate && rate.cpu + (rate.databaseCpu ?? 0);

function listCosts(
  servers: Servers,
  statements: readonly StatementCounts[],
  rates: readonly MeasuredRate[],
): CheckCost[] {
  return servers.kinds.flatMap((kind) => {
    const counts = statements.find((each) => each.kind === kind);
    const own = rates.flatMap((row) =>
      row.way === 'follow-ups' && row.kind === kind && row.rate ? row.rate : [],
    );
    const [one] = own;
    if (!counts || !one) return [];
    const perCheck = ({ statements: { all }, checked }: Swept) => all / checked;
    return {
      name: NAMES[kind],
      pending: perCheck(counts.pending),
      final: perCheck(counts.final),
      cpu: one.cpu,
      databaseCpu: one.databaseCpu,
      checksPerSecond: own.map(({ checksPerSecond }) => checksPerSecond),
    };
  });
}
