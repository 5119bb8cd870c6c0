import { expect, test } from 'vitest';
import { runCommand, startShop } from './run-command.ts';

/** A shop of two keys, of which the first needs a person. */
async function startCounted() {
  const shop = await startShop();
  await shop.leaveUnresolved('order-1');
  await shop.leaveUnresolved('order-2');
  await shop.journal.resolve('order-2', 'not_charged', { by: 'ama', reason: 'the service has none' });
  return shop;
}

test('counts what needs a person, and exits with 3 if there is anything', async () => {
  const shop = await startCounted();
  const { code, lines } = await runCommand(['count'], shop);
  const end = ['', 'List them: npx payment-journal list'];
  expect([code, lines]).toEqual([3, ['Orders and keys  2', 'Need a person    1', ...end]]);
  expect(await runCommand(['count', '--json'], shop)).toMatchObject({
    code: 3,
    out: '{"records":2,"attention":1}\n',
  });
  await shop.journal.resolve('order-1', 'not_charged', { by: 'ama', reason: 'the service has none' });
  const later = await runCommand(['count'], shop);
  expect([later.code, later.lines.at(-1)]).toEqual([0, 'Nothing needs a person.']);
});

test('aligns the counts of a billion orders', async () => {
  const shop = await startShop();
  Object.assign(shop.journal, { count: async () => ({ records: 1_234_567_890, attention: 7 }) });
  const { lines } = await runCommand(['count'], shop);
  expect(lines.slice(0, 2)).toEqual(['Orders and keys  1,234,567,890', 'Need a person                7']);
});
