import { writeFile } from 'node:fs/promises';
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

test('leaves neither the state file nor the port in use if it cannot start', async () => {
  const state = createStatePath();
  const port = await findFreePort();
  await expect(startSandbox({ port, state: '/nowhere/state.db' })).rejects.toBeInstanceOf(SandboxError);
  await startTestSandbox({ port });
  await expect(startSandbox({ state, port })).rejects.toThrow('in use. Choose another');
  await startTestSandbox({ state });
  await expect(startSandbox({ state })).rejects.toThrow('in use by another sandbox');
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

function alter(state: string, sql: string): void {
  const database = new DatabaseSync(state);
  try {
    database.exec(sql);
  } finally {
    database.close();
  }
}
