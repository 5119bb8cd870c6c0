import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { conditions } from '../conditions.ts';
import { median, spread } from '../median.ts';
import { printTable, ratio } from '../table.ts';
import type { Cost, Row } from './child.ts';
import { contenders, type Name, names } from './contenders.ts';

const MANY = 32;

const child = fileURLToPath(new URL('child.ts', import.meta.url));

/** The same GET by each contender against one service, in turns, each time in a process of its own. */
export async function benchCalls(args: string[]): Promise<void> {
  const { rounds, calls, only, plot } = optionsIn(args);
  console.log(
    `${conditions()} One service answers in a process of its own, over loopback and kept-alive connections.\n` +
      `Each figure is the median of ${rounds} turns, each in a fresh process: ${calls} calls after a warm-up of half as many.`,
  );
  const rows = names
    .filter((name) => only.length === 0 || only.includes(name))
    .map((name): Row => ({ name, ...contenders[name], alone: [], many: [] }));
  const service = fork(new URL('service.ts', import.meta.url));
  const [{ port }] = await once(service, 'message');
  try {
    for (let round = 0; round < rounds; round++) {
      for (const { name, alone, many } of rows) {
        alone.push(await costOf(name, port, 1, calls));
        many.push(await costOf(name, port, MANY, calls));
      }
    }
  } finally {
    service.disconnect();
  }
  print(rows);
  if (plot) (await import('./plot.ts')).plotCalls(rows);
}

function optionsIn(args: string[]): { rounds: number; calls: number; only: string[]; plot: boolean } {
  const options = {
    rounds: { type: 'string', default: '9' },
    calls: { type: 'string', default: '6000' },
    only: { type: 'string', default: '' },
    plot: { type: 'boolean', default: false },
  } as const;
  const { values } = parseArgs({ args, options });
  const [rounds, calls] = [Number(values.rounds), Number(values.calls)];
  if (!(Number.isInteger(rounds) && rounds > 0 && Number.isInteger(calls) && calls >= 100))
    throw new Error('--rounds must be a whole number, 1 or more, and --calls one of 100 or more.');
  return { rounds, calls, only: values.only.split(',').filter(Boolean), plot: values.plot };
}

async function costOf(name: Name, port: number, atOnce: number, calls: number): Promise<Cost> {
  const args = [child, name, `http://127.0.0.1:${port}/api/v1`, String(atOnce), String(calls)];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout);
}

const cpuOf = (costs: readonly Cost[]) => median(costs.map(({ cpu }) => cpu));
const wallOf = (costs: readonly Cost[]) => median(costs.map(({ wall }) => wall));

function print(rows: readonly Row[]): void {
  const [bare] = rows;
  for (const [title, of] of [
    ['One call after the other: microseconds for each', ({ alone }: Row) => alone],
    [`${MANY} calls at once: microseconds for each`, ({ many }: Row) => many],
  ] as const) {
    printTable(title, rows, [
      ['GET and parse', ({ label }) => label],
      ['CPU', (row) => cpuOf(of(row))],
      ['to fetch', (row) => ratio(cpuOf(of(row)), bare && cpuOf(of(bare)))],
      ['from - to', (row) => spread(of(row).map(({ cpu }) => cpu))],
      ['time', (row) => wallOf(of(row))],
      ['to fetch', (row) => ratio(wallOf(of(row)), bare && wallOf(of(bare)))],
    ]);
  }
  printTable('What each does beside', rows, [
    ['GET and parse', ({ label }) => label],
    ['beside', ({ beside }) => beside],
  ]);
}
