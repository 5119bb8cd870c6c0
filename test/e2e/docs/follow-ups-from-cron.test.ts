import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PaymentsClient } from 'payment-collection-client';
import { sqliteJournal } from 'payment-collection-client/journal/sqlite';
import { createOrderPayments } from 'payment-collection-client/orders';
import { startSandbox } from 'payment-collection-client/sandbox';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createMerchantProject } from '../../helpers/installed-package.ts';
import { charge } from '../../helpers/service.ts';
import { startProcess } from '../../unit/operators/command/merchant-project.ts';
import { blocksOf, fileNameOf, withFiles } from './blocks.ts';
import { pages } from './pages.ts';

const page = pages.find(({ path }) => path === 'docs/guides/follow-ups.md') ?? { path: '', text: '' };
const blocks = pages.flatMap(blocksOf);
const sweep = blocks.filter((block) => block.page === page.path && fileNameOf(block) === 'sweep.ts');
const files = sweep.flatMap((block) => withFiles(block, blocks));
const crontab = /^\* \* \* \* \* cd \/srv\/shop && \/usr\/bin\/node (?<rest>.+)> \/dev\/null$/m.exec(
  page.text,
)?.groups?.rest;

// The first check is due 8 s after the charge.
test('follows payments up with the files and the line of the guide, from cron', async () => {
  const { sandbox, orderPayments, cron, setKey } = await startShop();
  const press = (order: string) => orderPayments.charge(order, charge);
  const countGets = () => sandbox.requests.filter(({ operation }) => operation === 'verify').length;

  await press('17');
  expect(await cron()).toMatchObject({ code: 0, out: expect.stringContaining('checked: 0'), err: '' });
  expect(countGets()).toBe(0);
  sandbox.approve(sandbox.charges[0]?.reference ?? '');
  await vi.waitFor(
    async () => {
      // Two at once, as when a sweep takes longer than a minute.
      const outputs = (await Promise.all([cron(), cron()])).map(({ out }) => out).join('');
      expect(outputs.match(/deliver order 17/g)).toHaveLength(1);
    },
    { interval: 500 },
  );
  expect(countGets()).toBe(1);

  sandbox.fault('chargeMobileMoney', { kind: 'reset' });
  expect((await press('18')).state).toBe('in_review');
  expect(await cron()).toMatchObject({
    code: 0,
    err: expect.stringContaining('ALERT: order 18, payment 18/1: unresolved\n'),
  });

  await press('19');
  await setKey('another-live-key');
  await vi.waitFor(
    async () =>
      expect(await cron()).toMatchObject({ code: 1, err: expect.stringContaining('AuthenticationError') }),
    { interval: 500 },
  );
});

/** The folder of a merchant with the package, the files of the guide and a file `.env`, and the shop that charges. */
async function startShop() {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  const folder = await createMerchantProject();
  const write = (name: string, text: string) => writeFile(join(folder, name), text);
  await write('package.json', '{ "type": "module" }');
  expect(files.map(fileNameOf)).toEqual(['sweep.ts', 'payments.ts']);
  for (const block of files) await write(fileNameOf(block) ?? '', block.code);
  const setKey = (key: string) =>
    write('.env', `PAYMENTS_BASE_URL=${sandbox.baseUrl}\nPAYMENTS_API_KEY=${key}\n`);
  await setKey(sandbox.liveKey);

  const database = new DatabaseSync(join(folder, 'payments.db'));
  onTestFinished(() => database.close());
  const journal = sqliteJournal(database);
  const payments = new PaymentsClient({ baseUrl: sandbox.baseUrl, apiKey: sandbox.liveKey, journal });
  onTestFinished(() => payments.close());
  const orderPayments = createOrderPayments({ payments, journal, onPaid() {}, onAttention() {} });

  expect(crontab).toBeDefined();
  const cron = async () => {
    const { child, ended } = startProcess(
      'sh',
      ['-c', `cd ${folder} && ${process.execPath} ${crontab}`],
      '/',
    );
    child.stdin.end();
    return await ended;
  };
  return { sandbox, orderPayments, setKey, cron };
}
