// Run by sqlite-processes.test.ts: one of several processes on one file. It claims what is due until nothing is, and prints
// the keys.
import { DatabaseSync } from 'node:sqlite';
import { getJournalCore } from '../../../../src/journal/core.ts';
import { sqliteJournal } from '../../../../src/journal/sqlite.ts';

const [, , file = ''] = process.argv;
const { followUps } = getJournalCore(sqliteJournal(new DatabaseSync(file)));

const claim = async () =>
  (await followUps.claimDue({ kind: 'key', limit: 5, lease: 600_000 })).map(({ key }) => key);

// Each process has a share before one that is faster takes the rest.
const keys = await claim();
process.stdout.write('ready\n');
await new Promise((resolve) => process.stdin.once('data', resolve));
process.stdin.destroy();

for (let claimed = await claim(); claimed.length > 0; claimed = await claim()) keys.push(...claimed);
process.stdout.write(JSON.stringify(keys));
