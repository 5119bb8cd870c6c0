/**
 * Runs a Worker in workerd, Cloudflare's own runtime, with a D1 database and Durable Objects in a folder. It is a process
 * group of its own, so it can be killed and started again on the same folder and port. Nothing is fetched from a network.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { findFreePort } from '../../helpers/databases.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';

/** What `miniflare-process.ts` gets as JSON in its first argument. */
export interface MiniflareSettings {
  /** The bundle of the Worker. */
  readonly script: string;
  /** Where the D1 database and the Durable Objects are kept. */
  readonly folder: string;
  readonly port: number;
  /** Texts in the `env` of the Worker. */
  readonly bindings: Readonly<Record<string, string>>;
  /** The class of the Durable Objects without SQLite, if the Worker has one. */
  readonly legacyClass?: string | undefined;
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

/** Bundles a Worker of the folder `workers`, and starts it. `env.DB` is the database, and `env.OBJECTS` are the objects. */
export async function startWorker(
  name: string,
  { bindings = {}, legacyClass }: Partial<Pick<MiniflareSettings, 'bindings' | 'legacyClass'>> = {},
): Promise<RunningWorker> {
  const temp = createTempFolder();
  const script = await bundleWorker(name, temp.path);
  const port = await findFreePort();
  const settings: MiniflareSettings = { script, folder: temp.path, port, bindings, legacyClass };
  let child = await startMiniflare(settings);
  return {
    url: `http://127.0.0.1:${port}`,
    kill: () => killGroup(child),
    async start() {
      child = await startMiniflare(settings);
    },
    async stop() {
      await killGroup(child);
      temp.remove();
    },
  };
}

async function bundleWorker(name: string, folder: string): Promise<string> {
  const outfile = `${folder}/worker.mjs`;
  await build({
    entryPoints: [fileURLToPath(new URL(`workers/${name}.ts`, import.meta.url))],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*'],
  });
  return outfile;
}

async function startMiniflare(settings: MiniflareSettings): Promise<ChildProcess> {
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
  await Promise.race([once(child, 'message'), failed]);
  failed.catch(() => {});
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
