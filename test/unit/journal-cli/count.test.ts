import { expect, test } from 'vitest';
import { runCommand, startShop } from './run-command.ts';

test('counts the keys in each state, and exits with 3 if one is unresolved', async () => {
  const shop = await startShop();
  await shop.leaveUnresolved('order-1');
  await shop.leaveUnresolved('order-2');
  await shop.journal.resolve('order-2', 'not_charged', { by: 'ama', reason: 'the service has none' });
  const { code, lines } = await runCommand(['count'], shop);
  expect(lines).toEqual([
    'STATE        KEYS',
    'unknown         1  unresolved: a charge might exist',
    'begun           0  in progress: a process is charging now',
    'completed       0  its transaction is known',
    'not_sent        0  nothing was sent: no charge exists',
    'rejected        0  the service refused it: no charge exists',
    'not_charged     1  a person resolved it: no charge exists',
    'closed          0  a person dealt with the payment: never charged again',
    '',
    'List the unresolved keys: npx payment-journal list',
  ]);
  expect(code).toBe(3);
});

test('exits with 0 if no key is unresolved', async () => {
  const shop = await startShop();
  await shop.leaveUnresolved('order-1');
  await shop.journal.resolve('order-1', 'not_charged', { by: 'ama', reason: 'the service has none' });
  const { code, out } = await runCommand(['count'], shop);
  expect(code).toBe(0);
  expect(out).toContain('No unresolved keys.');
});

test('prints one object with --json', async () => {
  const shop = await startShop();
  await shop.leaveUnresolved('order-1');
  const { code, out } = await runCommand(['count', '--json'], shop);
  expect(out).toBe(
    '{"unknown":1,"begun":0,"completed":0,"not_sent":0,"rejected":0,"not_charged":0,"closed":0}\n',
  );
  expect(code).toBe(3);
});

test('fits in 80 columns with a billion keys', async () => {
  const shop = await startShop();
  const count = async () => ({
    unknown: 1_000_000_000,
    begun: 1,
    completed: 1_234_567_890,
    not_sent: 0,
    rejected: 0,
    not_charged: 0,
    closed: 0,
  });
  Object.assign(shop.journal, { count });
  const { lines } = await runCommand(['count'], shop);
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  expect(lines[1]).toContain('unknown      1,000,000,000  ');
});
