import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { postgresJournal } from 'payment-collection-client/journal/postgres';
import { startSandbox } from 'payment-collection-client/sandbox';
import { Pool } from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { closePool } from '../../helpers/close-pool.ts';
import { startPostgres } from '../../helpers/databases.ts';
import { createMerchantProject } from '../../helpers/installed-package.ts';
import { startProcess } from '../../unit/journal-cli/merchant-project.ts';
import { pages } from './pages.ts';

const PAGE = pages.find(({ path }) => path === 'docs/guides/follow-ups.md')?.text ?? '';
const FILES = [...PAGE.matchAll(/^```ts\n\/\/ (?<name>[\w.-]+)\n(?<code>.*?)^```$/gms)];
const CRONTAB = /^\* \* \* \* \* cd \/srv\/shop && \/usr\/bin\/node (?<rest>.+)$/m.exec(PAGE)?.groups?.rest;

// The first check is due 8 s after the charge.
test('follows payments up with the files of the guide, from cron', async () => {
  const { sandbox, pool, pay, cron, list, setKey } = await startShop();
  const listParcels = async () =>
    (await pool.query('SELECT order_id FROM parcels ORDER BY order_id')).rows.map(({ order_id }) => order_id);
  const countGets = () => sandbox.requests.filter(({ operation }) => operation === 'verify').length;

  expect((await pay(17)).out).toContain('order 17 is processing\n');
  const reference = sandbox.charges[0]?.reference ?? '';
  expect(await cron()).toEqual({ code: 0, out: '', err: '' });
  expect(countGets()).toBe(0);

  sandbox.approve(reference);
  await vi.waitFor(
    async () => {
      // Two at once, as when a sweep takes longer than a minute. Neither has anything to mail.
      const end = { code: 0, out: '', err: '' };
      expect(await Promise.all([cron(), cron()])).toEqual([end, end]);
      expect(await listParcels()).toEqual(['17']);
    },
    { timeout: 60_000, interval: 500 },
  );
  expect(countGets()).toBe(1);
  expect(await list()).toEqual({ code: 0, out: 'No unresolved keys.\n', err: '' });

  sandbox.fault('chargeMobileMoney', { kind: 'reset' });
  expect((await pay(18)).out).toContain('order 18 is in_review\n');
  const { code, err } = await cron();
  expect(code).toBe(0);
  expect(err).toContain('ALERT: order 18, payment 18/1: unresolved\n');
  expect((await pay(18)).out).toContain('order 18 is in_review\n');
  const note = { by: 'kofi@shop.example', reason: 'no charge in the records' };
  const free = () => postgresJournal(pool).resolve('18/1', 'not_charged', note);
  await free();
  // The key becomes unresolved again: a person is called again.
  sandbox.fault('chargeMobileMoney', { kind: 'reset' });
  expect((await pay(18)).out).toContain('order 18 is in_review\n');
  expect((await cron()).err).toContain('ALERT: order 18, payment 18/1: unresolved\n');
  await free();
  expect((await pay(18)).out).toContain('order 18 is processing\n');

  await pay(19);
  await setKey('sk_live_of_another_account');
  await vi.waitFor(
    async () =>
      expect(await cron()).toMatchObject({ code: 1, err: expect.stringContaining('AuthenticationError') }),
    { timeout: 60_000, interval: 500 },
  );
  expect(await listParcels()).toEqual(['17']);
  await setKey(sandbox.liveKey);
  sandbox.approve(sandbox.charges[2]?.reference ?? '');
  await pool.query('ALTER TABLE parcels RENAME TO elsewhere');
  await pool.query('CREATE VIEW parcels AS SELECT * FROM elsewhere LIMIT 10');
  // A handler that throws is no error of the sweep, but one of the log.
  await vi.waitFor(
    async () =>
      expect(await cron()).toMatchObject({ code: 0, err: expect.stringContaining('handler failed') }),
    { timeout: 60_000, interval: 500 },
  );
});

/** The folder of a merchant who has the package and pg, with the files of the guide and a file `.env`. */
async function startShop() {
  const postgres = await startPostgres();
  onTestFinished(() => postgres.stop());
  const pool = new Pool({ connectionString: postgres.url });
  onTestFinished(() => closePool(pool));
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  const folder = await createMerchantProject('pg');
  const write = (name: string, text: string) => writeFile(join(folder, name), text);
  expect(PAGE).toContain('\nnpm init --yes && npm pkg set type=module\n');
  await write('package.json', '{ "type": "module" }');
  const files = new Map(FILES.map(({ groups }) => [groups?.name, groups?.code ?? '']));
  expect([...files.keys()]).toEqual(['sweep.ts', 'payments.ts', 'order.ts']);
  for (const [name = '', code] of files) await write(name, code);
  const setKey = (key: string) =>
    write(
      '.env',
      `DATABASE_URL=${postgres.url}\nPAYMENTS_BASE_URL=${sandbox.baseUrl}\nPAYMENTS_API_KEY=${key}\n`,
    );
  await setKey(sandbox.liveKey);
  const run = async (command: string) => {
    const { child, ended } = startProcess(
      'sh',
      ['-c', `cd ${folder} && ${process.execPath} ${command}`],
      '/',
    );
    child.stdin.end();
    return await ended;
  };
  expect(PAGE).toContain('\nnode --env-file=.env order.ts 17\n');
  const pay = (id: number) => run(`--env-file=.env order.ts ${id}`);
  expect(CRONTAB).toBeDefined();
  /** Lists the unresolved keys with a file of the guide as the config, as the runbook does. */
  const list = () =>
    run(
      '--env-file=.env node_modules/payment-collection-client/dist/payment-journal.js list --config payments.ts',
    );
  return { sandbox, pool, pay, list, setKey, cron: () => run(CRONTAB ?? '') };
}
