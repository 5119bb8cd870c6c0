// Run by sqlite-processes.test.ts: one of several processes on one file. It claims what is due until nothing is, and prints
// the keys.
import { DatabaseSync } from 'node:sqlite';
import { createConnectionRunner } from '../../../../src/journal/sqlite-connection.ts';
import { createSqliteStore } from '../../../../src/journal/sqlite-store.ts';

const [, , file = ''] = process.argv;
const store = createSqliteStore(createConnectionRunner(new DatabaseSync(file)), 'payments');

const claim = async () =>
  (await store.claimDue({ kind: 'key', limit: 5, lease: 600_000 })).records.map(({ key }) => key);

// Each process has a share before one that is faster takes the rest.
const keys = await claim();
process.stdout.write('ready\n');
await new Promise((resolve) => process.stdin.once('data', resolve));
process.stdin.destroy();

for (let claimed = await claim(); claimed.length > 0; claimed = await claim()) keys.push(...claimed);
process.stdout.write(JSON.stringify(keys));
