// Run by sqlite-processes.test.ts: one of several processes on one file. It claims what is due until nothing is, and prints
// the keys.
import { DatabaseSync } from 'node:sqlite';
import { getJournalCore } from '../../../../src/journal/core.ts';
import { sqliteJournal } from '../../../../src/journal/sqlite.ts';

const [, , file = ''] = process.argv;
const { followUps } = getJournalCore(sqliteJournal(new DatabaseSync(file)));

process.stdout.write('ready\n');
await new Promise((resolve) => process.stdin.once('data', resolve));
process.stdin.destroy();

const keys: string[] = [];
for (;;) {
  const records = await followUps.claimDue({ kind: 'key', limit: 5, lease: 600_000 });
  if (records.length === 0) break;
  keys.push(...records.map(({ key }) => key));
}
process.stdout.write(JSON.stringify(keys));
