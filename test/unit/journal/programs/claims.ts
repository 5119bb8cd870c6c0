// Run by sqlite-processes.test.ts: one of several processes on one file. It begins every key once and ends what it got;
// then it prints what it was told of each.
import { DatabaseSync } from 'node:sqlite';
import { sqliteJournal } from '../../../../src/journal/sqlite.ts';

const [, , file = '', name = '', count = '0'] = process.argv;
const journal = sqliteJournal(new DatabaseSync(file), { lease: 600_000 });
const attempt = {
  operation: 'chargeMobileMoney',
  service: 'digest-of-the-service',
  fingerprint: 'c0ffee',
  amount: '25.50',
  currency: 'GHS',
} as const;

process.stdout.write('ready\n');
await new Promise((resolve) => process.stdin.once('data', resolve));
process.stdin.destroy();

const states: string[] = [];
const keys = Array.from({ length: Number(count) }, (_, index) => index);
// Each begins elsewhere, so that each gets some keys first.
const first = (name.charCodeAt(0) * 13) % keys.length;
for (const index of [...keys.slice(first), ...keys.slice(0, first)]) {
  const standing = await journal.claim(`order-${index}`, attempt);
  states[index] = standing.state;
  if (standing.state !== 'claimed') continue;
  const renewed = await journal.renew(standing.claim);
  const ending = { state: 'completed', result: { reference: `TXN-${name}-${index}` } } as const;
  if (!renewed || !(await journal.complete(renewed, ending))) throw new Error('a claim was lost');
}
console.log(JSON.stringify(states));
