// Run by postgres-restarts.test.ts: a process without a listener for errors, whose PostgreSQL ends its connections. It
// claims keys and reads them, until a step has failed; then it prints how steps failed.

import { Client, Pool } from 'pg';
import { getJournalCore } from '../../../../src/journal/core.ts';
import { postgresJournal } from '../../../../src/journal/postgres.ts';

const [, , url = '', kind = '', count = '0'] = process.argv;
const application_name = 'restarted';
const client =
  kind === 'Pool' ? new Pool({ connectionString: url, application_name, max: 4 }) : await connected();
const journal = postgresJournal(client);
const attempt = {
  operation: 'chargeMobileMoney',
  service: 'a service',
  fingerprint: 'c0ffee',
  amount: '25.50',
  currency: 'GHS',
} as const;

async function connected(): Promise<Client> {
  const one = new Client({ connectionString: url, application_name });
  await one.connect();
  return one;
}

process.stdout.write('ready\n');
const failures = new Set<string>();
for (let index = 0; index < Number(count) || failures.size === 0; index++) {
  const steps = [getJournalCore(journal).claim(`order-${index}`, attempt), journal.read(`order-${index}`)];
  for (const step of await Promise.allSettled(steps))
    if (step.status === 'rejected') failures.add(String(step.reason.name));
}
// An error between two requests must not end the process either.
await new Promise((resolve) => setTimeout(resolve, 200));
console.log(JSON.stringify([...failures]));
process.exit(0);
