import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { printTable } from '../table.ts';
import { CONNECTIONS, type Load, type Sandbox, startSandbox } from './load.ts';

interface Row extends Load {
  name: string;
  /** MiB of memory of the sandbox's process afterwards. */
  memory: number;
}

/** Measures the requests per second of the sandbox, empty and with as many transactions as it keeps. */
export async function benchSandbox(args: string[]): Promise<void> {
  const { requests, held } = parseOptions(args);
  console.log(
    `Node ${process.version}, load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} CPUs. The sandbox runs in its own process, over loopback, with\n` +
      `${CONNECTIONS} connections at once. CPU is that of the sandbox alone. "per core" is how many requests a second of its CPU serves.`,
  );
  const directory = await mkdtemp(join(tmpdir(), 'sandbox-bench-'));
  try {
    print('In memory', await measure(requests, held));
    print('With --state', await measure(requests, held, join(directory, 'state.db')));
  } finally {
    await rm(directory, { recursive: true });
  }
}

function parseOptions(args: string[]): { requests: number; held: number } {
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

async function measure(requests: number, held: number, state?: string): Promise<Row[]> {
  const sandbox = await startSandbox(state);
  try {
    return await measureRows(sandbox, requests, held);
  } finally {
    sandbox.stop();
  }
}

async function measureRows(sandbox: Sandbox, requests: number, held: number): Promise<Row[]> {
  const rows: Row[] = [];
  const row = async (name: string, count: number, call: () => Promise<unknown>) => {
    const load = await sandbox.measureLoad(count, call);
    rows.push({ name, ...load, memory: (await sandbox.readUsage()).memory / 2 ** 20 });
  };
  const references = [await sandbox.initialize()];
  const verify = () => sandbox.verify(references[Math.floor(Math.random() * references.length)] ?? '');
  const create = async () => {
    references.push(await sandbox.initialize());
  };
  await sandbox.measureLoad(requests, verify);

  await row('verify, 1 held', requests, verify);
  await row(`initialize, up to ${formatCount(requests)} held`, requests, create);
  await sandbox.measureLoad(held - requests - references.length, create);
  await row(`initialize, up to ${formatCount(held)} held`, requests, create);
  await row(`verify, ${formatCount(held)} held`, requests, verify);
  await row(`initialize, ${formatCount(held)} held, the oldest deleted`, requests, create);
  return rows;
}

const formatCount = (count: number) => count.toLocaleString('en-US');

function print(title: string, rows: readonly Row[]): void {
  printTable(title, rows, [
    ['request', ({ name }) => name],
    ['per second', ({ perSecond }) => perSecond],
    ['CPU µs', ({ cpu }) => cpu],
    ['per core', ({ cpu }) => 1e6 / cpu],
    ['p50 ms', ({ p50 }) => p50],
    ['p99 ms', ({ p99 }) => p99],
    ['MiB', ({ memory }) => memory],
  ]);
}
