// Run by sqlite-processes.test.ts: one of several processes on one file. It claims every key once, completes what it got,
// and prints the state of each ClaimResult.

import { DatabaseSync } from 'node:sqlite';
import { getJournalCore } from '../../../../src/journal/core.ts';
import { sqliteJournal } from '../../../../src/journal/sqlite.ts';

const [, , file = '', name = '', count = '0', table] = process.argv;
// Some wait for a lock inside SQLite, and some have the journal wait.
const timeout = name < 'c' ? 5_000 : 0;
const journal = sqliteJournal(new DatabaseSync(file, { timeout }), { lease: 600_000, table });
const intent = {
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
// Each process starts at another key, so that each gets some keys first.
const first = (name.charCodeAt(0) * 13) % keys.length;
for (const index of [...keys.slice(first), ...keys.slice(0, first)]) {
  const result = await getJournalCore(journal).claim(`order-${index}`, intent);
  states[index] = result.state;
  if (result.state !== 'claimed') continue;
  const renewed = await getJournalCore(journal).renew(result.claim);
  const ending = { state: 'completed', result: { reference: `TXN-${name}-${index}` } } as const;
  if (!renewed || !(await getJournalCore(journal).complete(renewed, ending)))
    throw new Error('a claim was lost');
}
console.log(JSON.stringify(states));
