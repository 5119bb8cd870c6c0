// Run by postgres-restarts.test.ts: a process without a listener for errors, whose PostgreSQL ends its connections. It
// writes records and reads them, and prints how many steps resolved and rejected.

import { Client, Pool } from 'pg';
import { createPostgresStore } from '../../../../src/journal/postgres-store.ts';

const [, , url = '', kind = ''] = process.argv;
const client = kind === 'Pool' ? new Pool({ connectionString: url, max: 4 }) : await connected();
const store = createPostgresStore(client, 'payments_journal');

async function connected(): Promise<Client> {
  const one = new Client({ connectionString: url });
  await one.connect();
  return one;
}

const results = { fulfilled: 0, rejected: 0 };
for (let index = 0; index < 5; index++) {
  const key = `order ${index}`;
  const change = { expected: null, version: `${index}`, text: '{}', mustCommit: true, index: null };
  for (const { status } of await Promise.allSettled([store.write(key, change), store.read(key)]))
    results[status]++;
}
// An error between two requests must not end the process either.
await new Promise((resolve) => setTimeout(resolve, 200));
console.log(JSON.stringify(results));
process.exit(0);
