import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PaymentsClient } from 'payment-collection-client';
import { sqliteJournal } from 'payment-collection-client/journal/sqlite';
import { startSandbox } from 'payment-collection-client/sandbox';
import { expect, onTestFinished, test } from 'vitest';
import { createMerchantProject } from '../../helpers/installed-package.ts';
import { charge } from '../../helpers/service.ts';
import { startProcess } from '../../unit/journal-cli/merchant-project.ts';
import { pages } from './pages.ts';

const CONFIG = `import { DatabaseSync } from 'node:sqlite';
import { PaymentsClient } from 'payment-collection-client';
import { sqliteJournal } from 'payment-collection-client/journal/sqlite';

export const journal = sqliteJournal(new DatabaseSync('payments.db'));
export const payments = new PaymentsClient({ journal });
`;

const PAGE = pages.find(({ path }) => path === 'docs/runbook.md')?.text ?? '';
const BLOCKS = [...PAGE.matchAll(/^```sh\n(?<code>.*?)^```$/gms)].map(({ groups }) => groups?.code ?? '');

test('runs the commands of the runbook, from the list to resolved keys', async () => {
  const { sandbox, journal, run } = await startNight();
  const [look, search, resolve, verify, free, ...others] = BLOCKS;
  expect(others).toEqual([]);

  const looked = await run(look);
  expect(looked.out).toContain('2 unresolved keys.');
  expect(looked.out).toMatch(/^Key +order-17\/1$/m);
  expect(looked.out).toContain('connection_error');
  expect(await run(search)).toMatchObject({ out: '', err: '' });

  const [found] = sandbox.charges;
  expect(await run(resolve)).toMatchObject({ code: 0 });
  expect(await journal.read('order-17/1')).toMatchObject({
    state: 'completed',
    reference: found?.reference,
    resolutions: [{ by: 'kofi@shop.example' }],
  });
  expect((await run(search)).out).toContain('"key":"order-17/1"');
  expect((await run(verify)).out).toContain("status: 'success'");

  // No terminal is there to type the amount at.
  expect((await run(free)).err).toContain('Nothing was changed');
  expect(await journal.read('order-18/1')).toMatchObject({ state: 'unknown' });
  expect(await run(free?.replace('--not-charged', '--not-charged --yes'))).toMatchObject({ code: 0 });
  expect(await journal.read('order-18/1')).toMatchObject({ state: 'not_charged' });
  expect((await run('npx payment-journal count --config payments.ts')).code).toBe(0);
}, 120_000);

/** A shop's server at night: order-17/1 was charged and paid, order-18/1 was not charged, and the responses to both are lost. */
async function startNight() {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  const folder = await createMerchantProject();
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await writeFile(join(folder, 'payments.ts'), CONFIG);
  const bin = join(folder, 'node_modules/.bin');
  await mkdir(bin);
  const command = '../payment-collection-client/dist/payment-journal.js';
  await chmod(join(bin, command), 0o755);
  await symlink(command, join(bin, 'payment-journal'));

  const database = new DatabaseSync(join(folder, 'payments.db'));
  onTestFinished(() => database.close());
  const journal = sqliteJournal(database);
  const payments = new PaymentsClient({ baseUrl: sandbox.baseUrl, apiKey: sandbox.liveKey, journal });
  onTestFinished(() => payments.close());
  for (const [key, kind, amount] of [
    ['order-17/1', 'responseLost', '25.50'],
    ['order-18/1', 'reset', '120.00'],
  ] as const) {
    sandbox.fault('chargeMobileMoney', { kind });
    const call = payments.chargeMobileMoney({ ...charge, amount }, { idempotencyKey: key });
    await expect(call).rejects.toMatchObject({ outcome: 'unknown' });
  }
  const [found] = sandbox.charges;
  if (!found) throw new Error('The service has no charge.');
  sandbox.approve(found.reference);

  const env = {
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    PAYMENTS_BASE_URL: sandbox.baseUrl,
    PAYMENTS_API_KEY: sandbox.liveKey,
    npm_config_update_notifier: 'false',
    npm_config_loglevel: 'error',
  };
  /** Runs a block of the page with the reference of this night, as an operator would. */
  const run = (block = '') => {
    const script = block.replaceAll('TXN-8F2K1', found.reference);
    const { child, ended } = startProcess('sh', ['-c', script], folder, env);
    child.stdin.end();
    return ended;
  };
  return { sandbox, journal, run };
}
