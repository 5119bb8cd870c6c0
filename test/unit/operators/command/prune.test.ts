import { expect, test, vi } from 'vitest';
import { runCommand, startShop } from './run-command.ts';

const BEFORE = Date.parse('2025-11-01T00:00:00Z');
const prune = ['prune', '--before', '2025-11-01'];

/** A shop whose journal deletes three records. */
async function startPruning() {
  const shop = await startShop();
  const pruned = vi.fn(async () => 3);
  Object.assign(shop.journal, { prune: pruned });
  return { exports: shop.exports, pruned };
}

test('deletes the records before a day in UTC, once it is typed', async () => {
  const { exports, pruned } = await startPruning();
  const { code, out, err } = await runCommand(prune, { exports, isTTY: true, typed: ' 2025-11-01 ' });
  expect([code, out]).toEqual([0, 'Deleted 3 records, created before 2025-11-01T00:00:00Z.\n']);
  expect(err).toContain('The keys of deleted records count as new: a call under one of them charges.');
  expect(err).toMatch(/created before 2025-11-01T00:00:00Z, type the date \(2025-11-01\): $/);
  expect(pruned.mock.calls).toEqual([[{ before: BEFORE, unfollowed: false }]]);
});

test('needs no terminal with --yes, and prints JSON', async () => {
  const { exports, pruned } = await startPruning();
  const { code, out } = await runCommand([...prune, '--unfollowed', '--yes', '--json'], { exports });
  expect([code, out]).toEqual([0, '{"deleted":3}\n']);
  expect(pruned.mock.calls).toEqual([[{ before: BEFORE, unfollowed: true }]]);
});

test.each([
  ['2025-11-02', true, 'That is not the date. Nothing was deleted.'],
  ['yes', true, 'That is not the date. Nothing was deleted.'],
  [null, true, 'That is not the date. Nothing was deleted.'],
  ['2025-11-01', false, 'there is no terminal to ask at. Nothing was deleted.\nAdd --yes.'],
])('deletes nothing if %j is typed, in a terminal: %s', async (typed, isTTY, message) => {
  const { exports, pruned } = await startPruning();
  const { code, out, err } = await runCommand(prune, { exports, isTTY, typed });
  expect([code, out]).toEqual([1, '']);
  expect(err).toContain(message);
  expect(pruned).not.toHaveBeenCalled();
});
