import { parseArgs } from 'node:util';
import { conditions } from '../conditions.ts';
import { printDay } from './day.ts';
import { printProgress } from './progress.ts';
import {
  listContenders,
  type MeasuredContender,
  type MeasuredRate,
  measureRate,
  printGrowth,
  printRates,
  takeBest,
} from './rates.ts';
import { type Servers, startServers } from './servers.ts';
import {
  printEmptySweeps,
  printRunCosts,
  printSharing,
  printStatements,
  printSweepMemory,
} from './sweeps.ts';

const PARTS = ['memory', 'empty', 'statements', 'run', 'day', 'sharing', 'rates', 'growth'] as const;

type Part = (typeof PARTS)[number];

interface Options {
  /** How many payments are open. */
  payments: number;
  /** After how many checks a rate has been measured. */
  checks: number;
  rounds: number;
  /** What to measure. */
  parts: readonly Part[];
}

/** Measures what follow-ups of many open payments cost, beside a loop by hand and BullMQ. */
export async function benchFollowUps(args: string[]): Promise<void> {
  const options = parseOptions(args);
  const { payments, parts } = options;
  const count = payments.toLocaleString('en-US');
  console.log(
    `${conditions()} The service, the databases and the measured processes share them.\n` +
      `${count} open payments. The service is in a process of its own, over loopback. Each measurement is in fresh processes.\n` +
      'PostgreSQL, SQLite and Redis (appendfsync always) wait for the disk at each commit. HTTP is through fetch, the default.',
  );
  await using closing = new AsyncDisposableStack();
  const servers = await startServers(closing);
  if (!servers.kinds.includes('redis'))
    console.log('redis-server is not on the PATH: Redis and BullMQ are left out.');

  if (parts.includes('memory')) await printSweepMemory(servers, payments);
  if (parts.includes('empty')) await printEmptySweeps(servers, payments);
  if (parts.includes('statements')) await printStatements(servers, payments);
  const costs =
    parts.includes('run') || parts.includes('day') ? await printRunCosts(servers, payments) : undefined;
  if (parts.includes('sharing')) await printSharing(servers, payments);
  if (parts.includes('rates')) {
    const rows = listContenders(servers.kinds).map((contender) => ({ ...contender, payments }));
    printRates(await measureRates(servers, rows, options), options);
  }
  if (parts.includes('growth')) {
    const ours = listContenders(servers.kinds).filter(
      ({ way, processes }) => way === 'follow-ups' && processes === 1,
    );
    const rows = ours.flatMap((contender) =>
      [1, 10].map((times) => ({ ...contender, payments: payments * times })),
    );
    printGrowth(await measureRates(servers, rows, options), options);
  }
  if (costs && parts.includes('day')) printDay(costs);
}

function parseOptions(args: string[]): Options {
  const options = {
    payments: { type: 'string', default: '100000' },
    checks: { type: 'string', default: '5000' },
    rounds: { type: 'string', default: '2' },
    only: { type: 'string', default: 'rates' },
  } as const;
  const { values } = parseArgs({ args, options });
  const [payments, checks, rounds] = [Number(values.payments), Number(values.checks), Number(values.rounds)];
  const parts = PARTS.filter((part) => values.only.split(',').includes(part));
  const isValid = [payments, checks, rounds].every((value) => Number.isInteger(value) && value > 0);
  if (isValid && payments >= 200 && parts.length > 0)
    return { payments, checks: Math.min(checks, Math.floor(payments * 0.75)), rounds, parts };
  throw new Error(
    `--payments must be a whole number, 200 or more; --checks and --rounds ones of 1 or more; --only some of ${PARTS.join(',')}.`,
  );
}

/** Measures the contenders in turns, and keeps the best figures of each. */
async function measureRates(
  servers: Servers,
  contenders: readonly MeasuredContender[],
  { checks, rounds }: Options,
): Promise<MeasuredRate[]> {
  const rows = contenders.map((contender): MeasuredRate => ({ ...contender, rate: undefined }));
  for (let round = 0; round < rounds; round++)
    for (const row of rows) row.rate = takeBest(row.rate, await measureRate(row, servers, checks));
  printProgress('');
  return rows;
}
