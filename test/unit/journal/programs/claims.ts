// Run by sqlite-processes.test.ts: one of several processes on one file. It inserts every key once, replaces what it inserted,
// and prints whether each key became its own.

import { DatabaseSync } from 'node:sqlite';
import { createConnectionRunner } from '../../../../src/journal/sqlite-connection.ts';
import { createSqliteStore } from '../../../../src/journal/sqlite-store.ts';

const [, , file = '', name = '', count = '0', table = ''] = process.argv;
// Some wait for a lock inside SQLite, and some have the store wait.
const timeout = name < 'c' ? 5_000 : 0;
const store = createSqliteStore(createConnectionRunner(new DatabaseSync(file, { timeout })), table);
const index = { kind: 'key', createdAt: 1, attentionAt: null, dueAt: null } as const;

process.stdout.write('ready\n');
await new Promise((resolve) => process.stdin.once('data', resolve));
process.stdin.destroy();

const owned: boolean[] = [];
const numbers = Array.from({ length: Number(count) }, (_, number) => number);
// Each process starts at another key, so that each gets some keys first.
const first = (name.charCodeAt(0) * 13) % numbers.length;
for (const number of [...numbers.slice(first), ...numbers.slice(0, first)]) {
  const key = `order-${number}`;
  const change = { expected: null, version: `${name}1`, text: 'begun', mustCommit: true, index };
  owned[number] = await store.write(key, change);
  if (!owned[number]) continue;
  const next = { ...change, expected: change.version, version: `${name}2`, text: name };
  if (!(await store.write(key, next))) throw new Error('a record was lost');
}
console.log(JSON.stringify(owned));
