/**
 * Runs a Worker in workerd, Cloudflare's own runtime, with a D1 database and Durable Objects in a folder. It is a process
 * group of its own, so it can be killed and started again on the same folder and port. Nothing is fetched from a network.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build } from 'esbuild';
import { findFreePort } from '../../helpers/free-port.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';

/** What `miniflare-process.ts` gets as JSON in its first argument. */
export interface MiniflareSettings {
  /** The bundle of the Worker. */
  readonly script: string;
  /** A file or folder beside whose packages Miniflare is. */
  readonly installedAt: string;
  readonly compatibilityDate: string;
  /** Where the D1 database and the Durable Objects are kept. */
  readonly folder: string;
  readonly port: number;
  /** Texts in the `env` of the Worker. */
  readonly bindings: Readonly<Record<string, string>>;
  /** The classes of its Durable Objects, by the name in `env`. */
  readonly objects: Readonly<Record<string, { readonly className: string; readonly useSQLite: boolean }>>;
}

export interface RunningWorker {
  readonly url: string;
  /** Kills it with SIGKILL, and workerd with it. */
  kill(): Promise<void>;
  /** Starts it again, on the same folder and port. */
  start(): Promise<void>;
  /** Ends it, and deletes the folder. */
  stop(): Promise<void>;
}

interface WorkerOptions
  extends Partial<Pick<MiniflareSettings, 'bindings' | 'compatibilityDate' | 'installedAt' | 'objects'>> {
  /** Default: the package is bundled from its source. */
  readonly build?: BuildOptions;
  /** Whether the next process is loaded before it is needed. */
  readonly hasSpare?: boolean;
}

/** Bundles the Worker of a file, and starts it. `env.DB` is its database. */
export async function startWorker(
  file: string | URL,
  {
    bindings = {},
    objects = {},
    hasSpare = false,
    installedAt = import.meta.filename,
    compatibilityDate = '2026-01-01',
    build: options = { alias },
  }: WorkerOptions = {},
): Promise<RunningWorker> {
  const temp = createTempFolder();
  const script = join(temp.path, 'worker.mjs');
  await build({
    entryPoints: [typeof file === 'string' ? file : fileURLToPath(file)],
    outfile: script,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    ...options,
  });
  const port = await findFreePort();
  const settings = { script, folder: temp.path, port, bindings, objects, installedAt, compatibilityDate };
  let child = await startMiniflare(loadMiniflare(settings));
  // Loading takes longer than starting, and a short outage must be short.
  let spare = hasSpare ? loadMiniflare(settings) : undefined;
  return {
    url: `http://127.0.0.1:${port}`,
    kill: () => killGroup(child),
    async start() {
      child = await startMiniflare(spare ?? loadMiniflare(settings));
      spare = hasSpare ? loadMiniflare(settings) : undefined;
    },
    async stop() {
      if (spare) await killGroup((await spare).child);
      await killGroup(child);
      temp.remove();
    },
  };
}

const source = (path: string) => fileURLToPath(new URL(`../../../src/${path}`, import.meta.url));

const alias = {
  'payment-collection-client': source('index.ts'),
  'payment-collection-client/follow-ups': source('follow-ups/index.ts'),
  'payment-collection-client/orders': source('orders/index.ts'),
  'payment-collection-client/journal/sqlite': source('stores/sqlite/index.ts'),
};

interface LoadedMiniflare {
  readonly child: ChildProcess;
  /** Rejects if the process ends. */
  readonly failed: Promise<never>;
}

/** Starts a process that has loaded Miniflare, and waits. */
async function loadMiniflare(settings: MiniflareSettings): Promise<LoadedMiniflare> {
  const program = fileURLToPath(new URL('miniflare-process.ts', import.meta.url));
  const child = spawn(process.execPath, [program, JSON.stringify(settings)], {
    // It is the leader of its process group, which workerd belongs to.
    detached: true,
    // workerd loads no file outside the current folder.
    cwd: settings.folder,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const onExit = () => killNow(child);
  process.once('exit', onExit);
  child.once('exit', () => process.off('exit', onExit));
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`Miniflare exited with ${code} before it was ready.`);
  });
  failed.catch(() => {});
  await Promise.race([once(child, 'message'), failed]);
  return { child, failed };
}

async function startMiniflare(loading: Promise<LoadedMiniflare>): Promise<ChildProcess> {
  const { child, failed } = await loading;
  child.send('start');
  await Promise.race([once(child, 'message'), failed]);
  // A test must not wait for it.
  child.unref();
  child.channel?.unref();
  return child;
}

async function killGroup(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.ref();
  killNow(child);
  await gone;
}

function killNow({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
