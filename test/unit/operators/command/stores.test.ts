import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { hasRedis, startRedis } from '../../../helpers/databases.ts';
import { API_KEY, sendJson, startService, successBodies } from '../../../helpers/service.ts';
import { createDatabase } from '../../../helpers/use-database.ts';
import { createProject, type Project, runInOneProcess } from './merchant-project.ts';

const worker = fileURLToPath(new URL('programs/charge-until-killed.ts', import.meta.url));
const KEYS = ['order-17/1', 'order 18 ✓/1'];
/** So long that the process that charges keeps its claims on a busy machine. They expire so long after it was killed. */
const LEASE = '3000';

/** A store, and how a merchant's config opens it at `process.env.PLACE`. */
interface Store {
  readonly name: string;
  readonly packages: readonly string[];
  readonly config: string;
  /** Where there is none. */
  readonly down: string;
  /** Starts it, and returns where it is. */
  start(): Promise<string>;
}

async function started(server: { url: string; stop(): Promise<void> }): Promise<string> {
  onTestFinished(() => server.stop());
  return server.url;
}

const stores: Store[] = [
  {
    name: 'SQLite',
    packages: [],
    config: `import { DatabaseSync } from 'node:sqlite';
import { sqliteJournal } from 'payment-collection-client/journal/sqlite';
export const journal = sqliteJournal(new DatabaseSync(process.env.PLACE ?? ''), { lease: Number(process.env.LEASE) });`,
    down: 'missing/hunter2.db',
    start: async () => 'journal.db',
  },
  {
    name: 'PostgreSQL',
    packages: ['pg'],
    config: `import pg from 'pg';
import { postgresJournal } from 'payment-collection-client/journal/postgres';
const pool = new pg.Pool({ connectionString: process.env.PLACE });
export const journal = postgresJournal(pool, { lease: Number(process.env.LEASE) });
await journal.migrate();`,
    down: 'postgres://merchant:hunter2-hunter2@127.0.0.1:1/shop',
    start: async () => (await createDatabase()).url,
  },
  ...(hasRedis ? ['ioredis', 'redis'] : []).map(
    (client): Store => ({
      name: `Redis, by ${client}`,
      packages: [client],
      config: `${
        client === 'ioredis'
          ? "import { Redis } from 'ioredis';\nconst client = new Redis(process.env.PLACE ?? '');"
          : "import { createClient } from 'redis';\nconst client = await createClient({ url: process.env.PLACE }).connect();"
      }
import { redisJournal } from 'payment-collection-client/journal/redis';
export const journal = redisJournal(client, { lease: Number(process.env.LEASE) });`,
      down: 'redis://:hunter2-hunter2@127.0.0.1:1',
      start: async () => started(await startRedis()),
    }),
  ),
];
if (!hasRedis) console.log('redis-server is not on the PATH: the command is not tried on Redis.');

function createStoreProject(config: string, packages: readonly string[]): Promise<Project> {
  const client = `import { PaymentsClient } from 'payment-collection-client';
${config}
export const payments: PaymentsClient = new PaymentsClient({ journal });
`;
  return createProject({ 'package.json': '{"type":"module"}', 'payments.ts': client }, ...packages);
}

/** Starts a service that makes each charge and never responds. It finds one of them: `TXN-8f2c61d0`. */
async function startSilentService(charges: number) {
  const made = Promise.withResolvers<void>();
  let posts = 0;
  const service = await startService((response, { method, path }) => {
    if (method === 'GET') {
      const isFound = path.endsWith('/TXN-8f2c61d0');
      return isFound ? sendJson(response, 200, successBodies.verify()) : sendJson(response, 404, {});
    }
    if (++posts === charges) made.resolve();
    return undefined;
  });
  return { ...service, made: made.promise };
}

describe.each(stores)('$name', ({ packages, config, down, start }) => {
  test('keys of a killed process are listed and resolved', async () => {
    const PLACE = await start();
    const service = await startSilentService(KEYS.length);
    const project = await createStoreProject(config, packages);
    const env = { PLACE, LEASE, PAYMENTS_API_KEY: API_KEY, PAYMENTS_BASE_URL: service.baseUrl };
    const charging = spawn(process.execPath, [worker, ...KEYS], {
      cwd: project.folder,
      env: { ...process.env, ...env },
      stdio: 'inherit',
    });
    await service.made;
    charging.kill('SIGKILL');
    await once(charging, 'exit');
    const list = await vi.waitFor(
      async () => {
        const end = await project.run(['list', '--json'], { env });
        expect([end.code, end.err, end.out.match(/\n/g)?.length]).toEqual([3, '', KEYS.length]);
        return end;
      },
      { timeout: 60_000, interval: 200 },
    );
    const entries = list.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(entries.map(({ key }) => key).sort()).toEqual(KEYS.toSorted());
    const sent = service.requests.map(({ headers }) => headers['x-request-id']);
    expect(entries.flatMap(({ requestIds }) => requestIds).sort()).toEqual(sent.sort());

    const note = ['--by', 'kofi@shop.example', '--reason', 'found by its request id'];
    const reference = ['--reference', 'TXN-8f2c61d0', ...note];
    const [first, second, left] = await runInOneProcess(
      [
        [project, 'resolve', 'order-17/1', ...reference],
        [project, 'resolve', 'order 18 ✓/1', ...reference],
        [project, 'count', '--json'],
      ],
      env,
    );
    expect(first).toMatchObject({ code: 0, err: '' });
    expect(second).toMatchObject({ code: 1, err: expect.stringContaining('cannot pay for two') });
    expect(left?.code).toBe(3);
    expect(JSON.parse(left?.out ?? '')).toEqual({ records: 2, attention: 1 });

    expect([list, second].filter((end) => JSON.stringify(end).includes(API_KEY))).toEqual([]);
    // The prompts of the killed process were the only charges.
    expect(service.requests.filter(({ method }) => method === 'POST')).toHaveLength(KEYS.length);
  });

  test('ends with 1 and tells it in lines if it is down', async () => {
    const project = await createStoreProject(config, packages);
    const env = {
      PLACE: down,
      LEASE,
      PAYMENTS_API_KEY: API_KEY,
      PAYMENTS_BASE_URL: 'http://127.0.0.1:9/api/v1',
    };
    const { code, out, err } = await project.run(['count'], { env });
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(/^payment-journal: /m);
    expect(err).not.toMatch(/^\s+at |hunter2-/m);
  });
});
