import { readFile, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test, vi } from 'vitest';
import { SandboxError, startSandbox } from '../../../../src/developers/sandbox/index.ts';
import { NotFoundError } from '../../../../src/index.ts';
import { findFreePort } from '../../../helpers/free-port.ts';
import { charge, createStatePath, payment, startTestSandbox } from './start-sandbox.ts';

test('keeps transactions unchanged over a restart', async () => {
  const state = createStatePath();
  const first = await startTestSandbox({ state });
  await first.payments.initialize(payment);
  const paid = await first.payments.initialize({ ...payment, currency: 'USD' });
  first.sandbox.approve(paid.reference);
  const open = await first.payments.chargeMobileMoney(charge);
  const inTest = await first.client({ apiKey: first.sandbox.testKey }).initialize(payment);
  const { transactions, charges } = first.sandbox;
  await first.sandbox.close();

  const second = await startTestSandbox({ state });
  expect(second.sandbox.transactions).toEqual(transactions);
  expect(second.sandbox.charges).toEqual(charges);
  expect(await second.page('/')).toContain(paid.reference);
  expect(await second.page('/')).toContain('no requests for it in memory');
  await second.press('/phone', { reference: open.reference, decision: 'approve', pin: '1234' });
  await second.sandbox.close();

  const third = await startTestSandbox({ state });
  await expect(third.payments.verify(open.reference)).resolves.toMatchObject({ status: 'success' });
  await expect(third.payments.verify(inTest.reference)).rejects.toBeInstanceOf(NotFoundError);
});

test('expires a prompt whose time passed while it was stopped, and no other', async () => {
  const state = createStatePath();
  const first = await startTestSandbox({ state, promptExpiry: 60_000 });
  const { reference: open } = await first.payments.chargeMobileMoney(charge);
  const { reference: approved } = await first.payments.chargeMobileMoney(charge);
  first.sandbox.approve(approved);
  await first.sandbox.close();
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
  onTestFinished(() => void vi.useRealTimers());
  const second = await startTestSandbox({ state });
  await expect(second.payments.verify(open)).resolves.toMatchObject({ status: 'failed' });
  second.sandbox.advance(120_000);
  await expect(second.payments.verify(approved)).resolves.toMatchObject({ status: 'success' });
});

test('keeps a charge open when its expiry is too far for one timer', async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on('warning', onWarning);
  onTestFinished(() => void process.off('warning', onWarning));
  const { payments } = await startTestSandbox({ promptExpiry: 10 ** 12 });
  const { reference } = await payments.chargeMobileMoney(charge);
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'pending' });
  // Node replaces a delay that is too long by one millisecond, and warns. The sandbox would set such a timer forever.
  expect(warnings.filter(({ name }) => name === 'TimeoutOverflowWarning')).toEqual([]);
});

test('leaves neither the state file nor the port in use if it cannot start', async () => {
  const state = createStatePath();
  const port = await findFreePort();
  await expect(startSandbox({ port, state: '/nowhere/state.db' })).rejects.toBeInstanceOf(SandboxError);
  await startTestSandbox({ port });
  await expect(startSandbox({ state, port })).rejects.toThrow('in use. Choose another');
  await startTestSandbox({ state });
  await expect(startSandbox({ state })).rejects.toThrow('in use by another sandbox');
});

test('finds double charges over a restart', async () => {
  const state = createStatePath();
  const waitBriefly = () => new Promise((resolve) => setTimeout(resolve, 5));
  const first = await startTestSandbox({ state });
  const { reference: failed } = await first.payments.chargeMobileMoney(charge);
  first.sandbox.decline(failed);
  await waitBriefly();
  const { reference: open } = await first.payments.chargeMobileMoney(charge);
  await first.sandbox.close();

  const second = await startTestSandbox({ state });
  second.sandbox.expectNoDoubleCharge();
  await waitBriefly();
  await second.payments.chargeMobileMoney(charge);
  expect(() => second.sandbox.expectNoDoubleCharge()).toThrow(`${open} and`);
  second.sandbox.decline(open);
  expect(() => second.sandbox.expectNoDoubleCharge()).toThrow(`${open} and`);
  await second.sandbox.close();
  const third = await startTestSandbox({ state });
  expect(() => third.sandbox.expectNoDoubleCharge()).toThrow(`${open} and`);
});

test('keeps the newest `keep` transactions of a larger file, and none after a reset', async () => {
  const state = createStatePath();
  const first = await startTestSandbox({ state });
  for (let count = 0; count < 5; count++) await first.payments.initialize(payment);
  const references = first.sandbox.transactions.map(({ reference }) => reference);
  await first.sandbox.close();
  const second = await startTestSandbox({ state, keep: 3 });
  const kept = second.sandbox.transactions.map(({ reference }) => reference);
  expect(kept).toEqual(references.slice(-3));
  expect(await second.page('/')).not.toContain(references[0]);
  second.sandbox.reset();
  await second.sandbox.close();
  expect((await startTestSandbox({ state })).sandbox.transactions).toEqual([]);
});

test('refuses a file that is no database, and the database of another program', async () => {
  const state = createStatePath();
  alter(state, 'CREATE TABLE orders (id INTEGER)');
  await expect(startSandbox({ state })).rejects.toThrow('is not a state file');
  await writeFile(state, 'The notes of a merchant.'.repeat(100));
  const refused = startSandbox({ state });
  await expect(refused).rejects.toBeInstanceOf(SandboxError);
  await expect(refused).rejects.toThrow(`The state file ${state} cannot be used`);
});

const set = (path: string, value: string) =>
  `UPDATE transactions SET entry = json_set(entry, '$.${path}', ${value})`;
const write = set('status', "'pending'");

test.each([
  ['an unknown status', set('status', "'refunded'"), write],
  ['a time that is no date', set('createdAt', '9000000000000000'), write],
  ['an unknown plan', set('plan', "'soon'"), write],
  ['what is not JSON', "UPDATE transactions SET entry = 'soon'", "UPDATE transactions SET entry = '{}'"],
  ['no table', 'ALTER TABLE transactions RENAME TO orders', 'ALTER TABLE orders RENAME TO transactions'],
])('refuses a damaged file with %s, and unlocks it', async (_what, damage, after) => {
  const state = createStatePath();
  const first = await startTestSandbox({ state });
  await first.payments.initialize(payment);
  await first.sandbox.close();
  alter(state, damage);
  const refused = startSandbox({ state });
  await expect(refused).rejects.toBeInstanceOf(SandboxError);
  await expect(refused).rejects.toThrow(`The state file ${state} is damaged. Choose another, or delete it.`);
  alter(state, after);
});

test('refuses a file with an overwritten database page', async () => {
  const state = createStatePath();
  const first = await startTestSandbox({ state });
  for (let count = 0; count < 60; count++) await first.payments.initialize(payment);
  await first.sandbox.close();
  const original = await readFile(state);
  const pages = original.length / 4096;
  expect(pages).toBeGreaterThan(5);
  for (let page = 1; page < pages; page++) {
    await writeFile(state, Buffer.from(original).fill(0x41, page * 4096, (page + 1) * 4096));
    await expect(startSandbox({ state })).rejects.toBeInstanceOf(SandboxError);
  }
  await writeFile(state, original);
  expect((await startTestSandbox({ state })).sandbox.transactions).toHaveLength(60);
});

function alter(state: string, sql: string): void {
  const database = new DatabaseSync(state);
  try {
    database.exec(sql);
  } finally {
    database.close();
  }
}
