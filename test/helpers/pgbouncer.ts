import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseServer } from './databases.ts';
import { findFreePort } from './free-port.ts';

/** Whether Debian's pgbouncer is on the PATH. Without it, the tests that need it are skipped. */
export const hasPgBouncer = spawnSync('pgbouncer', ['--version']).status === 0;

if (!hasPgBouncer) {
  console.warn('The tests with PgBouncer are skipped: none on the PATH (Debian: apt-get install pgbouncer).');
}

/**
 * Starts PgBouncer in transaction mode, in front of a database of `startPostgres`. Each transaction can run on another
 * connection than the one before. It does not run as root, so root starts it as the user nobody.
 */
export async function startPgBouncer(databaseUrl: string): Promise<DatabaseServer> {
  const { hostname, port: databasePort, username, password, pathname } = new URL(databaseUrl);
  const port = await findFreePort();
  const folder = mkdtempSync(join(tmpdir(), 'payments-pgbouncer-'));
  chmodSync(folder, 0o755);
  const config = join(folder, 'pgbouncer.ini');
  writeFileSync(
    config,
    `[databases]
* = host=${hostname} port=${databasePort} user=${username} password=${password}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 200
`,
  );
  chmodSync(config, 0o644);
  const isRoot = process.getuid?.() === 0;
  const server = spawn('pgbouncer', [...(isRoot ? ['-u', 'nobody'] : []), config], { cwd: folder });
  const onExit = () => void server.kill('SIGKILL');
  process.once('exit', onExit);
  const ready = Promise.withResolvers<void>();
  let output = '';
  for (const stream of [server.stdout, server.stderr]) {
    stream.on('data', (chunk) => {
      output = `${output}${chunk}`.slice(-10_000);
      if (output.includes('process up')) ready.resolve();
    });
  }
  server.once('error', ready.reject);
  server.once('exit', () => ready.reject(new Error(`PgBouncer did not start: ${output}`)));
  await ready.promise;
  return {
    port,
    url: `postgres://${username}:any@127.0.0.1:${port}${pathname}`,
    async stop() {
      const gone = once(server, 'exit');
      server.kill('SIGTERM');
      await gone;
      process.off('exit', onExit);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
