import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RestartableServer, startRestartable } from '../../helpers/databases.ts';
import { findFreePort } from '../../helpers/free-port.ts';

const isInstalled = (program: string) =>
  spawnSync(program, ['--version', '--no-defaults']).error === undefined;

/** Whether Debian's mariadb-server is on the PATH. */
export const hasMariaDb = isInstalled('mariadbd') && isInstalled('mariadb-install-db');

/** A server of MariaDB, on loopback. */
export interface MariaDbServer extends Omit<RestartableServer, 'url'> {
  readonly place: string;
}

/** With the encoding of the client, the user and the database of these tests. */
const PREPARE = `CREATE DATABASE IF NOT EXISTS shop;
CREATE USER IF NOT EXISTS merchant IDENTIFIED BY 'merchant';
GRANT ALL ON *.* TO merchant;
`;

/** Starts MariaDB, from Debian, with a folder of its own. `settings` are options of `mariadbd`. */
export async function startMariaDb(settings: readonly string[] = []): Promise<MariaDbServer> {
  const port = await findFreePort();
  const folder = mkdtempSync(join(tmpdir(), 'payments-mariadb-'));
  const data = join(folder, 'data');
  const init = join(folder, 'init.sql');
  writeFileSync(init, PREPARE);
  const user = process.getuid?.() === 0 ? ['--user=root'] : [];
  // A server that starts deletes the temporary tables in its `tmpdir`: those of another, if they share one.
  const folders = [`--datadir=${data}`, `--tmpdir=${folder}`];
  const common = ['--no-defaults', ...folders, ...user, '--skip-name-resolve'];
  const login = ['--auth-root-authentication-method=normal', '--skip-test-db'];
  const created = spawnSync('mariadb-install-db', [...common, ...login], { encoding: 'utf8' });
  if (created.status !== 0)
    throw new Error(`MariaDB made no tables: ${created.stdout}${created.stderr}`, { cause: created.error });

  const server = await startRestartable({
    name: 'MariaDB',
    start: () =>
      spawn('mariadbd', [
        ...common,
        `--port=${port}`,
        '--bind-address=127.0.0.1',
        `--socket=${join(data, 's')}`,
        `--pid-file=${join(data, 'pid')}`,
        `--init-file=${init}`,
        ...settings,
      ]),
    readyLine: 'ready for connections',
    signal: 'SIGTERM',
    folder,
  });
  return { port, place: `mysql://merchant:merchant@127.0.0.1:${port}/shop`, ...server };
}
