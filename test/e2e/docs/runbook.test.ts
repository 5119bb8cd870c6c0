import { writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PaymentsClient } from 'payment-collection-client';
import { sqliteJournal } from 'payment-collection-client/journal/sqlite';
import { createOrderPayments } from 'payment-collection-client/orders';
import { startSandbox } from 'payment-collection-client/sandbox';
import { expect, onTestFinished, test } from 'vitest';
import { collect } from '../../helpers/collect.ts';
import { createMerchantProject } from '../../helpers/installed-package.ts';
import { charge } from '../../helpers/service.ts';
import { startProcess } from '../../unit/operators/command/merchant-project.ts';
import { fencedIn, readPage } from './tables.ts';

const CONFIG = `import { DatabaseSync } from 'node:sqlite';
import { PaymentsClient } from 'payment-collection-client';
import { sqliteJournal } from 'payment-collection-client/journal/sqlite';

export const journal = sqliteJournal(new DatabaseSync('payments.db'));
export const payments = new PaymentsClient({ journal });
`;

const BLOCKS = fencedIn(readPage('docs/runbook.md'), 'sh');
/** How the page loads the environment variables of the shop. */
const LOAD = 'set -a; . /etc/shop/payments.env; set +a';

test('runs the commands of the runbook, from the list to resolved keys', async () => {
  const { sandbox, journal, run } = await startNight();
  const [look, search, resolve, verify, , free] = BLOCKS;
  expect(BLOCKS).toHaveLength(8);
  expect(look?.split('\n')[0]).toContain(LOAD);

  const looked = await run(look);
  expect(looked.out).toContain('2 payments need a person.');
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
});

test('resolves the keys of checkout pages as the runbook does', async () => {
  const { sandbox, payments, run } = await startNight();
  const [, , , , resolvePage = '', free = ''] = BLOCKS;
  const input = { amount: '40.00', customer_email: 'ama@example.com' };
  const start = (key: string) => payments.initialize(input, { idempotencyKey: key });
  const lose = async (key: string) => {
    sandbox.fault('initialize', { kind: 'responseLost' });
    await expect(start(key)).rejects.toMatchObject({ outcome: 'unknown' });
    const { reference = '' } = sandbox.transactions.at(-1) ?? {};
    return { reference, checkout_url: `${sandbox.url}/checkout/${reference}` };
  };

  // The customer has the page.
  const page = await lose('order-19/1');
  const named = (block: string) => block.replaceAll(/TXN-\w+/g, page.reference);
  const shown = `https://pay.example/checkout/${page.reference}`;
  expect(named(resolvePage)).toContain(shown);
  expect(await run(named(resolvePage).replace(shown, page.checkout_url))).toMatchObject({ code: 0 });
  expect(await start('order-19/1')).toMatchObject({ ...page, replayed: true });

  // Nobody has the page.
  const lost = await lose('order-20/1');
  const freed = free.replace('order-18/1', 'order-20/1').replace('--not-charged', '--not-charged --yes');
  expect(await run(freed)).toMatchObject({ code: 0 });
  const { reference, replayed } = await start('order-20/1');
  expect(replayed).toBe(false);
  expect(reference).not.toBe(lost.reference);
});

test('only reads an order that was charged twice, and closes what was paid back', async () => {
  const { sandbox, payments, journal, run } = await startNight();
  const [, , , verify = '', , , close, read] = BLOCKS;
  const orderPayments = createOrderPayments({ payments, journal, onPaid() {}, onAttention() {} });
  await orderPayments.charge('17', charge);
  await orderPayments.charge('17', { ...charge, phone: '0201234567' }, { startAnother: true });
  const references = (await orderPayments.read('17')).payments.map(({ reference = '' }) => reference);
  for (const reference of references) {
    sandbox.approve(reference);
    await orderPayments.notify({ data: { reference } });
  }
  await orderPayments.sweep();
  const before = await collect(journal.list());

  const { out } = await run(read);
  for (const reference of references) {
    expect(out).toContain(reference);
    expect((await run(verify.replace('TXN-8F2K1', reference))).out).toContain("status: 'success'");
  }
  expect(await collect(journal.list())).toEqual(before);
  expect(sandbox.charges).toHaveLength(3);

  expect(await journal.read('17/2')).toMatchObject({ attention: 'paid_twice' });
  expect(await run(close)).toMatchObject({ code: 0 });
  expect(await journal.read('17/2')).toMatchObject({ state: 'closed', reference: references[1] });
  expect(await orderPayments.read('17')).toMatchObject({ state: 'paid', payment: { key: '17/1' } });
});

/** A shop's server at night: order-17/1 was charged and paid, order-18/1 was not charged, and the responses to both are lost. */
async function startNight() {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  const folder = await createMerchantProject();
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await writeFile(join(folder, 'payments.ts'), CONFIG);

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
    npm_config_update_notifier: 'false',
    npm_config_loglevel: 'error',
  };
  const file = join(folder, 'shop.env');
  await writeFile(file, `PAYMENTS_BASE_URL=${sandbox.baseUrl}\nPAYMENTS_API_KEY=${sandbox.liveKey}\n`);
  /** Runs a block of the page with the reference of this night, as an operator does in a terminal that has loaded the variables. */
  const run = (block = '') => {
    const script = `${LOAD}\n${block}`
      .replaceAll('/etc/shop/payments.env', file)
      .replaceAll('TXN-8F2K1', found.reference);
    const { child, ended } = startProcess('sh', ['-c', script], folder, env);
    child.stdin.end();
    return ended;
  };
  return { sandbox, journal, payments, run };
}
