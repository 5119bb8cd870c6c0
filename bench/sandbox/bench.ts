import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { printTable } from '../table.ts';
import { CONNECTIONS, type Load, type Sandbox, startSandbox } from './load.ts';

interface Row extends Load {
  name: string;
  /** Megabytes of the sandbox's process afterwards. */
  memory: number;
}

/** What the sandbox answers in a second, with nothing in it and with as many transactions as it keeps. */
export async function benchSandbox(args: string[]): Promise<void> {
  const { requests, held } = optionsIn(args);
  console.log(
    `Node ${process.version}, load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} CPUs. The sandbox runs in a process of its own, over loopback, asked over\n` +
      `${CONNECTIONS} connections at once; CPU is that of the sandbox alone, and a core's worth is what it would answer with a core to itself.`,
  );
  const directory = await mkdtemp(join(tmpdir(), 'sandbox-bench-'));
  try {
    print('In memory', await measured(requests, held));
    print('With --state', await measured(requests, held, join(directory, 'state.db')));
  } finally {
    await rm(directory, { recursive: true });
  }
}

function optionsIn(args: string[]): { requests: number; held: number } {
  const options = {
    requests: { type: 'string', default: '10000' },
    held: { type: 'string', default: '100000' },
  } as const;
  const { values } = parseArgs({ args, options });
  const [requests, held] = [Number(values.requests), Number(values.held)];
  if (Number.isInteger(requests) && requests >= 100 && Number.isInteger(held) && held > 2 * requests) {
    return { requests, held };
  }
  throw new Error('--requests must be a whole number, 100 or more, and --held more than twice that.');
}

async function measured(requests: number, held: number, state?: string): Promise<Row[]> {
  const sandbox = await startSandbox(state);
  try {
    return await rowsOf(sandbox, requests, held);
  } finally {
    sandbox.stop();
  }
}

async function rowsOf(sandbox: Sandbox, requests: number, held: number): Promise<Row[]> {
  const rows: Row[] = [];
  const row = async (name: string, count: number, call: () => Promise<unknown>) => {
    const load = await sandbox.load(count, call);
    rows.push({ name, ...load, memory: (await sandbox.reading()).memory / 2 ** 20 });
  };
  const references = [await sandbox.initialize()];
  const verify = () => sandbox.verify(references[Math.floor(Math.random() * references.length)] ?? '');
  const create = async () => {
    references.push(await sandbox.initialize());
  };
  await sandbox.load(requests, verify);

  await row('verify, 1 held', requests, verify);
  await row(`initialize, up to ${shown(requests)} held`, requests, create);
  await sandbox.load(held - requests - references.length, create);
  await row(`initialize, up to ${shown(held)} held`, requests, create);
  await row(`verify, ${shown(held)} held`, requests, verify);
  await row(`initialize, ${shown(held)} held, the oldest go`, requests, create);
  return rows;
}

const shown = (count: number) => count.toLocaleString('en-US');

function print(title: string, rows: readonly Row[]): void {
  printTable(title, rows, [
    ['request', ({ name }) => name],
    ['per second', ({ perSecond }) => perSecond],
    ['CPU µs', ({ cpu }) => cpu],
    ["a core's worth", ({ cpu }) => 1e6 / cpu],
    ['p50 ms', ({ p50 }) => p50],
    ['p99 ms', ({ p99 }) => p99],
    ['MiB', ({ memory }) => memory],
  ]);
}
