import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { SandboxError, startSandbox } from '../../../src/sandbox/index.ts';
import { charge, payment, start } from './start.ts';

async function stateFile(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'sandbox-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  return join(directory, 'state.db');
}

test('transactions outlive a restart, each as it was', async () => {
  const state = await stateFile();
  const first = await start({ state });
  await first.payments.initialize(payment);
  const paid = await first.payments.initialize({ ...payment, currency: 'USD' });
  first.sandbox.approve(paid.reference);
  const ringing = await first.payments.chargeMobileMoney(charge);
  const { transactions, charges } = first.sandbox;
  await first.sandbox.close();

  const second = await start({ state });
  expect(second.sandbox.transactions).toEqual(transactions);
  expect(second.sandbox.charges).toEqual(charges);
  expect(await second.page('/')).toContain(paid.reference);
  await second.press('/phone', { reference: ringing.reference, answer: 'approve', pin: '1234' });
  await second.sandbox.close();

  const third = await start({ state });
  await expect(third.payments.verify(ringing.reference)).resolves.toMatchObject({ status: 'success' });
});

test('a prompt that was to expire while the sandbox was down has expired', async () => {
  const state = await stateFile();
  const first = await start({ state, promptExpiry: 100 });
  const { reference } = await first.payments.chargeMobileMoney(charge);
  await first.sandbox.close();
  await new Promise((resolve) => setTimeout(resolve, 150));
  const second = await start({ state });
  await expect(second.payments.verify(reference)).resolves.toMatchObject({ status: 'failed' });
});

test('keeps a charge open when its expiry is too far for one timer', async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on('warning', onWarning);
  onTestFinished(() => void process.off('warning', onWarning));
  const { payments } = await start({ promptExpiry: 10 ** 12 });
  const { reference } = await payments.chargeMobileMoney(charge);
  await expect(payments.verify(reference)).resolves.toMatchObject({ status: 'pending' });
  // Node sets a timer that is too long to one millisecond, and warns: the sandbox would set it again for ever.
  expect(warnings.filter(({ name }) => name === 'TimeoutOverflowWarning')).toEqual([]);
});

test('a charge that was approved does not expire after a restart', async () => {
  const state = await stateFile();
  const first = await start({ state, promptExpiry: 100 });
  const { reference } = await first.payments.chargeMobileMoney(charge);
  first.sandbox.approve(reference);
  await first.sandbox.close();
  await new Promise((resolve) => setTimeout(resolve, 150));
  const second = await start({ state });
  await expect(second.payments.verify(reference)).resolves.toMatchObject({ status: 'success' });
});

test('a sandbox that cannot listen lets go of its state file', async () => {
  const state = await stateFile();
  const { sandbox } = await start();
  const port = Number(new URL(sandbox.url).port);
  await expect(startSandbox({ state, port })).rejects.toThrow('in use. Choose another');
  await start({ state });
});

test('a double charge is one also after a restart, and a charge that had failed before the next is none', async () => {
  const state = await stateFile();
  const laterOn = () => new Promise((resolve) => setTimeout(resolve, 5));
  const first = await start({ state });
  const { reference: failed } = await first.payments.chargeMobileMoney(charge);
  first.sandbox.decline(failed);
  await laterOn();
  const { reference: open } = await first.payments.chargeMobileMoney(charge);
  await first.sandbox.close();

  const second = await start({ state });
  second.sandbox.expectNoDoubleCharge();
  await laterOn();
  await second.payments.chargeMobileMoney(charge);
  expect(() => second.sandbox.expectNoDoubleCharge()).toThrow(`${open} and`);
  second.sandbox.decline(open);
  expect(() => second.sandbox.expectNoDoubleCharge()).toThrow(`${open} and`);
  await second.sandbox.close();
  const third = await start({ state });
  expect(() => third.sandbox.expectNoDoubleCharge()).toThrow(`${open} and`);
});

test('what was forgotten stays forgotten', async () => {
  const state = await stateFile();
  const first = await start({ state });
  await first.payments.initialize(payment);
  first.sandbox.reset();
  await first.sandbox.close();
  expect((await start({ state })).sandbox.transactions).toEqual([]);
});

test('a state file that holds more than is kept is cut', async () => {
  const state = await stateFile();
  const first = await start({ state });
  for (let count = 0; count < 5; count++) await first.payments.initialize(payment);
  const references = first.sandbox.transactions.map(({ reference }) => reference);
  await first.sandbox.close();
  const second = await start({ state, keep: 3 });
  const kept = second.sandbox.transactions.map(({ reference }) => reference);
  expect(kept).toEqual(references.slice(-3));
  expect(await second.page('/')).not.toContain(references[0]);
});

test('two sandboxes do not share a state file', async () => {
  const state = await stateFile();
  await start({ state });
  await expect(startSandbox({ state })).rejects.toThrow('in use by another sandbox');
});

test('a file that is no database is refused and left as it is', async () => {
  const state = await stateFile();
  await writeFile(state, 'The notes of a merchant.'.repeat(100));
  const refused = startSandbox({ state });
  await expect(refused).rejects.toBeInstanceOf(SandboxError);
  await expect(refused).rejects.toThrow(`The state file ${state} cannot be used`);
});

test('the database of something else is refused and left as it is', async () => {
  const state = await stateFile();
  const database = new DatabaseSync(state);
  database.exec('CREATE TABLE orders (id INTEGER)');
  database.close();
  await expect(startSandbox({ state })).rejects.toThrow('is not a state file');
});

const write = "UPDATE transactions SET status = 'pending'";

test.each([
  ['a status that there is not', "UPDATE transactions SET status = 'refunded'", write],
  ['a time that no date can hold', 'UPDATE transactions SET created_at = 9000000000000000', write],
  ['a plan that is no JSON', "UPDATE transactions SET plan = 'soon'", write],
  ['no table', 'ALTER TABLE transactions RENAME TO orders', 'ALTER TABLE orders RENAME TO transactions'],
])('a state file with %s is refused as damaged, and is not kept locked', async (_what, damage, after) => {
  const state = await stateFile();
  const first = await start({ state });
  await first.payments.initialize(payment);
  await first.sandbox.close();
  alter(state, damage);
  const refused = startSandbox({ state });
  await expect(refused).rejects.toBeInstanceOf(SandboxError);
  await expect(refused).rejects.toThrow(`The state file ${state} is damaged: choose another, or delete it.`);
  alter(state, after);
});

test('so is one whose pages were written over', async () => {
  const state = await stateFile();
  const first = await start({ state });
  for (let count = 0; count < 200; count++) await first.payments.initialize(payment);
  await first.sandbox.close();
  const whole = await readFile(state);
  for (let page = 1; page < whole.length / 4096; page++) {
    await writeFile(state, Buffer.from(whole).fill(0x41, page * 4096, (page + 1) * 4096));
    await expect(startSandbox({ state })).rejects.toBeInstanceOf(SandboxError);
  }
  await writeFile(state, whole);
  expect((await start({ state })).sandbox.transactions).toHaveLength(200);
});

function alter(state: string, sql: string): void {
  const database = new DatabaseSync(state);
  try {
    database.exec(sql);
  } finally {
    database.close();
  }
}

test('a state file that cannot be read does not keep the port', async () => {
  const { sandbox } = await start();
  const port = Number(new URL(sandbox.url).port);
  await sandbox.close();
  await expect(startSandbox({ port, state: '/nowhere/state.db' })).rejects.toBeInstanceOf(SandboxError);
  await start({ port });
});
