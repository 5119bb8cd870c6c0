// npm run crashproof: thousands of charges in workers that are killed, on each journal in turn.
import { parseArgs } from 'node:util';
import { withFile, withPostgres, withRedis } from './databases.ts';
import { type RunOptions, type RunResult, runCrashProof } from './harness.ts';
import { type JournalKind, negativeControls } from './journal-kinds.ts';
import { formatName, printKills, printResults } from './report.ts';

const { values } = parseArgs({
  options: {
    keys: { type: 'string', default: '3000' },
    workers: { type: 'string', default: '4' },
    kills: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
    journal: { type: 'string', default: 'all' },
    help: { type: 'boolean', default: false },
  },
});

const HELP = `npm run crashproof -- [options]

Charges orders in worker processes that are killed with SIGKILL and started again, then compares
the journal and every result with the service's ledger. Exit code 1: a key was charged twice, a
record or a result is wrong, or a run without a proper journal did not charge twice.

  --keys <n>        idempotency keys in each run (default 3000)
  --workers <n>     worker processes at a time, 2 or more (default 4)
  --kills <n>       workers to kill in each run (default 300)
  --seed <n>        chooses kill points, faults and delays (default 1)
  --journal <name>  sqlite, postgres, redis or all (default all)
  --help            prints this text

Each journal runs twice: alone, and with a reviewer who resolves unresolved keys meanwhile.`;
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
const names = ['sqlite', 'postgres', 'redis'] as const;
const chosen = names.filter((name) => values.journal === 'all' || values.journal === name);
if (chosen.length === 0) throw new Error(`--journal must be all, ${names.join(', ')}.`);

const results: RunResult[] = [];
const run = async (options: Partial<RunOptions> & { kind: JournalKind }) => {
  const result = await runCrashProof({ ...common, ...options });
  results.push(result);
  console.log(`${formatName(result)}: ${Math.round(result.seconds)} s, ${result.doubled} charged twice`);
  for (const violation of result.violations.slice(0, 20)) console.log(`  ${violation}`);
};

const withDatabase = { sqlite: withFile, postgres: withPostgres, redis: withRedis };
for (const kind of chosen) {
  // Each run has a database of its own.
  for (const hasReviewer of [false, true]) await withDatabase[kind]((url) => run({ kind, url, hasReviewer }));
}
// Without a journal, and with journals that break the promise, the harness must find double charges.
const some = { keys: Math.min(common.keys, 500), kills: Math.min(common.kills, 50) };
for (const kind of negativeControls) await run({ kind, ...some });

printResults(`Seed ${common.seed}, ${common.workers} workers, Node ${process.version}`, results);
printKills(results);
const isNegativeControl = ({ kind }: RunResult) => negativeControls.includes(kind);
const failed = results.filter((result) =>
  isNegativeControl(result) ? result.doubled === 0 : result.doubled > 0 || result.violations.length > 0,
);
for (const result of failed)
  console.log(
    `${formatName(result)}: ${isNegativeControl(result) ? 'NO DOUBLE CHARGE WAS FOUND' : 'A CHARGE OR A RECORD IS WRONG'}`,
  );
process.exitCode = failed.length > 0 ? 1 : 0;
