import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import type { Pending, Polling } from './measure.ts';
import type { OverHttp } from './over-http.ts';
import { type Measured, printOverHttp, printPending, printPolling, printTargets } from './report.ts';
import { type Job, runRounds } from './rounds.ts';

interface Entry extends Job {
  label: string;
}

const ours: Entry = { mode: 'pending', name: 'ours', count: 100_000, label: 'ours, shared signal' };

const others: readonly Entry[] = [
  { ...ours, name: 'timerLoop', label: 'loop with setTimeout, no signal' },
  { ...ours, name: 'pWaitFor', label: 'p-wait-for, shared signal' },
  { ...ours, name: 'smithyNoSignal', label: 'smithy waiter, no signal' },
];

/** Quadratic in the listeners of one signal: 100,000 waits would take hours. */
const quadratic: readonly Entry[] = [
  { ...ours, name: 'smithy', label: 'smithy waiter, shared signal' },
  { ...ours, name: 'timersPromises', label: 'timers/promises, shared signal' },
];

const pending: readonly Entry[] = [
  ours,
  ...others,
  ...[10_000, 20_000].flatMap((count) => [ours, ...quadratic].map((entry) => ({ ...entry, count }))),
  { ...ours, count: 1_000_000 },
];

const polling = [
  { ...ours, name: 'ourPoller' } as const,
  ...others,
  ...quadratic.slice(1).map((entry) => ({ ...entry, count: 10_000 })),
].map((entry): Entry => ({ ...entry, mode: 'polling' }));

/** Measures each in fresh processes, one after another in each round, and keeps the least of every figure. */
export async function benchWaits(args: string[]): Promise<void> {
  const options = { rounds: { type: 'string', default: '3' } } as const;
  const { values } = parseArgs({ args, options });
  const rounds = Number(values.rounds);
  if (!(Number.isInteger(rounds) && rounds > 0))
    throw new Error('--rounds must be a whole number, 1 or more.');
  console.log(
    `Node ${process.version}, load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} CPUs. Each line is measured ${rounds} times, each time in a\n` +
      'fresh process, in rounds with the others. A figure is the least of them: other load can only add to it.',
  );

  const pendingRows = await measure<Pending>(pending, rounds);
  printPending(pendingRows);
  const pollingRows = await measure<Polling>(polling, rounds);
  printPolling(pollingRows);
  printOverHttp(await measure<OverHttp>([{ ...ours, mode: 'http', count: 10_000, label: 'ours' }], rounds));
  printTargets(pendingRows[0]?.figures, pollingRows[0]?.figures, pendingRows.at(-1)?.figures);
}

async function measure<Figures extends object>(
  entries: readonly Entry[],
  rounds: number,
): Promise<Measured<Figures>[]> {
  const figures = await runRounds<Figures>(rounds, entries);
  return entries.map((entry, index) => ({ ...entry, figures: figures[index] }));
}
