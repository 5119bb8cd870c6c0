import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { hasRedis, startPostgres, startRedis } from '../../test/helpers/databases.ts';
import { Child } from './child.ts';
import type { StoreAddress } from './stores.ts';

/** The databases and the service of one run. */
export interface Servers {
  service: Child;
  baseUrl: string;
  /** SQLite, PostgreSQL, and Redis if there is one. */
  kinds: StoreAddress['kind'][];
  /** Returns where a new store of this kind is. */
  createAddress(kind: StoreAddress['kind']): StoreAddress;
  /** Deletes what a store holds. */
  drop(store: StoreAddress): Promise<void>;
  /** Returns microseconds of CPU of the database since its start; `undefined` if they cannot be read, or are the process's. */
  readCpu(kind: StoreAddress['kind']): Promise<number | undefined>;
  /** Whether the databases wait for the disk. A measurement of memory is faster if they do not. */
  setDurable(isDurable: boolean): Promise<void>;
}

/** A file system in memory, on Linux. */
const MEMORY_FOLDER = '/dev/shm';

export async function startServers(closing: AsyncDisposableStack): Promise<Servers> {
  const service = closing.use(await Child.start('service.ts'));
  const port = await service.request<number>('getPort');
  const folder = mkdtempSync(join(tmpdir(), 'payments-bench-'));
  closing.defer(() => rmSync(folder, { recursive: true, force: true }));
  const postgres = await startPostgres();
  closing.defer(() => postgres.stop());
  const pool = new pg.Pool({ connectionString: postgres.url, max: 1 });
  closing.defer(() => pool.end());
  // The server can stop before the connection is closed.
  pool.on('error', () => {});
  const redis = hasRedis ? await startRedis() : undefined;
  closing.defer(() => redis?.stop());
  const connection = redis && new Redis(redis.url);
  closing.defer(() => connection?.disconnect());
  let stores = 0;
  const memoryFolder = existsSync(MEMORY_FOLDER)
    ? mkdtempSync(join(MEMORY_FOLDER, 'payments-bench-'))
    : folder;
  closing.defer(() => rmSync(memoryFolder, { recursive: true, force: true }));
  let sqliteFolder = folder;

  return {
    service,
    baseUrl: `http://127.0.0.1:${port}/api/v1`,
    kinds: redis ? ['sqlite', 'postgres', 'redis'] : ['sqlite', 'postgres'],
    createAddress(kind) {
      const name = `payments_${++stores}`;
      const urls = {
        sqlite: join(sqliteFolder, `${name}.db`),
        postgres: postgres.url,
        redis: redis?.url ?? '',
      };
      return { kind, url: urls[kind], name };
    },
    async drop({ kind, url, name }) {
      if (kind === 'sqlite') for (const end of ['', '-wal', '-shm']) rmSync(url + end, { force: true });
      if (kind === 'postgres') await pool.query(`DROP TABLE IF EXISTS "${name}", "${name}_clock"`);
      if (kind === 'redis') await connection?.flushall();
    },
    async readCpu(kind) {
      if (kind === 'postgres') return readPostgresCpu(pool);
      return kind === 'redis' && connection ? readRedisCpu(connection) : undefined;
    },
    async setDurable(isDurable) {
      await pool.query(`ALTER SYSTEM SET fsync = ${isDurable ? 'on' : 'off'}`);
      await pool.query('SELECT pg_reload_conf()');
      await connection?.config('SET', 'appendfsync', isDurable ? 'always' : 'no');
      sqliteFolder = isDurable || !existsSync(MEMORY_FOLDER) ? folder : memoryFolder;
    },
  };
}

/** Sums up all processes of the server, also those that have ended. */
async function readPostgresCpu(pool: pg.Pool): Promise<number | undefined> {
  if (!existsSync('/proc/self/stat')) return undefined;
  const { rows } = await pool.query(`SELECT pg_read_file('postmaster.pid') AS text`);
  const postmaster = Number.parseInt(rows[0].text, 10);
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').trim().split(' ');
  return children.reduce((sum, pid) => sum + readTicks(pid, 2), readTicks(String(postmaster), 4)) * TICK;
}

/** One tick of the kernel's accounting, in microseconds. */
const TICK = 10_000;

/** Reads user and system time of a process, and with four fields those of its children that have ended. */
function readTicks(pid: string, fields: 2 | 4): number {
  const stat = readStat(pid);
  const times = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return times.slice(11, 11 + fields).reduce((sum, ticks) => sum + Number(ticks), 0);
}

function readStat(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    // It has just ended: it is counted with its parent.
    return '';
  }
}

async function readRedisCpu(redis: Redis): Promise<number> {
  const info = await redis.info('cpu');
  const times = info.matchAll(/^used_cpu_(?:sys|user):([\d.]+)/gm);
  return [...times].reduce((sum, [, seconds]) => sum + Number(seconds) * 1_000_000, 0);
}
