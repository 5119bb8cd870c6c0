// npm run crashproof: thousands of charges, or of follow-ups, in processes that are killed, on each journal in turn.
import { parseArgs } from 'node:util';
import { findDatabase, listInstalledJournals, listJournals } from './databases.ts';
import { runFollowUps } from './follow-ups/run.ts';
import { runOrders } from './orders/run.ts';
import { runCharges } from './run-charges.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    keys: { type: 'string', default: '3000' },
    workers: { type: 'string', default: '4' },
    kills: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
    journal: { type: 'string', default: 'all' },
    help: { type: 'boolean', default: false },
  },
});

const HELP = `npm run crashproof -- [charges | follow-ups | orders] [options]

charges (default): charges orders in worker processes that are killed with SIGKILL and started
again, then compares the journal and every result with the service's ledger. Exit code 1: a key was
charged twice, a record or a result is wrong, or a run without a proper journal did not charge twice.
Each journal runs twice: alone, and with a reviewer who resolves unresolved keys meanwhile.

follow-ups: charges orders, and follows the payments up in processes that are killed. Then it
compares what the handlers got, every request and the journal with the service's ledger. Exit code
1: a payment was forgotten, reported wrongly or checked too often, or a run without the claim did
not find double work.

orders: processes press "Pay" for orders, sweep, and are killed. Then it compares their logs and the
journal with the service's ledger. Exit code 1: an order was charged while it could still be paid,
was delivered for two payments, or a run with keys made of the time did not do so.

  --keys <n>        idempotency keys in each run (default 3000)
  --workers <n>     processes of a kind at a time, 2 or more (default 4)
  --kills <n>       processes to kill in each run (default 300)
  --seed <n>        chooses kill points, faults and delays (default 1)
  --journal <name>  one of those below, or all: sqlite, postgres and redis (default all)
  --help            prints this text

journals: ${listJournals().join(', ')}
npm run test:databases installs the drivers of those that this package has none of.`;
if (values.help) {
  console.log(HELP);
  process.exit();
}

const count = (name: 'keys' | 'workers' | 'kills' | 'seed', least: number) => {
  const value = Number(values[name]);
  if (Number.isInteger(value) && value >= least) return value;
  throw new Error(`--${name} must be a whole number, ${least} or more.`);
};
const common = {
  keys: count('keys', 1),
  workers: count('workers', 2),
  kills: count('kills', 0),
  seed: count('seed', 0),
};
if (values.journal !== 'all' && !listJournals().includes(values.journal))
  throw new Error(`--journal must be all, ${listJournals().join(', ')}.`);
const chosen = await Promise.all(
  (values.journal === 'all' ? listInstalledJournals() : [values.journal]).map(async (kind) => ({
    kind,
    withDatabase: await findDatabase(kind),
  })),
);

const runs = { charges: runCharges, 'follow-ups': runFollowUps, orders: runOrders };
const name = positionals[0] ?? 'charges';
if (name !== 'charges' && name !== 'follow-ups' && name !== 'orders')
  throw new Error('Give charges, follow-ups or orders.');
process.exitCode = (await runs[name](chosen, common)) ? 0 : 1;
