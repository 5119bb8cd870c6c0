// npm run crashproof: charges, follow-ups and orders in processes that are killed, on each journal in turn.
import { parseArgs } from 'node:util';
import { printTable } from '../../../bench/table.ts';
import { listKinds, loadDatabase } from '../databases/load-database.ts';
import { FINDING, type RunOptions, type RunResult, runCrashProof } from './harness.ts';
import { findMissing } from './judge.ts';
import { controls, points } from './plan.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '300' },
    workers: { type: 'string', default: '4' },
    seed: { type: 'string', default: '1' },
    journal: { type: 'string', default: 'all' },
    help: { type: 'boolean', default: false },
  },
});

const HELP = `npm run crashproof -- [options]

Processes of a shop charge under idempotency keys, press "Pay" for orders, and sweep. They are killed
with SIGKILL and started again. Then what they logged, and the journal, are compared with the ledger of
the service. Exit code 1: something is wrong, or nothing was found with a broken journal.

  --kills <n>       processes to kill on each journal (default 300)
  --workers <n>     processes at a time, 2 or more (default 4)
  --seed <n>        chooses kill points, faults and calls (default 1)
  --journal <name>  one of those below, or all: sqlite, postgres and redis (default all)
  --help            prints this text

journals: ${listKinds().join(', ')}
npm run test:databases installs the drivers of those that this package has none of.`;
if (values.help) {
  console.log(HELP);
  process.exit();
}

const parse = (name: 'workers' | 'kills' | 'seed', least: number) => {
  const value = Number(values[name]);
  if (Number.isInteger(value) && value >= least) return value;
  throw new Error(`--${name} must be a whole number, ${least} or more.`);
};
const common = { workers: parse('workers', 2), kills: parse('kills', 0), seed: parse('seed', 0) };

const results: RunResult[] = [];
const failed: string[] = [];
const run = async (options: Omit<RunOptions, keyof typeof common>, kills = common.kills) => {
  const result = await runCrashProof({ ...common, kills, ...options });
  results.push(result);
  console.log(`${result.name}: ${Math.round(result.seconds)} s`);
  return result;
};
for (const kind of values.journal === 'all' ? ['sqlite', 'postgres', 'redis'] : [values.journal]) {
  const { missing, oneProcess } = await loadDatabase(kind);
  if (missing ?? oneProcess) {
    console.log(`${kind} is skipped: ${missing ?? oneProcess}`);
    continue;
  }
  const { violations, counts } = await run({ kind });
  for (const violation of violations.slice(0, 40)) console.log(`  ${violation}`);
  const missed = findMissing(counts);
  if (violations.length > 0) failed.push(`${kind}: SOMETHING IS WRONG`);
  if (missed.length > 0) failed.push(`${kind}: never occurred: ${missed.join(', ')}`);
}
// With a journal that breaks the promises, the judge must find it.
for (const control of controls) {
  const { name, violations } = await run({ kind: 'sqlite', control }, Math.min(common.kills, 20));
  if (!violations.some((found) => FINDING.test(found))) failed.push(`${name}: NOTHING WAS FOUND`);
}

const columns = results.map(
  (result) =>
    [result.name, (name: string) => String(result.counts[name] ?? result.killsAt.get(name) ?? 0)] as const,
);
const names = [...new Set(results.flatMap(({ counts }) => Object.keys(counts)))];
printTable(`Seed ${common.seed}, ${common.workers} processes, Node ${process.version}`, names, [
  ['what', (name) => name],
  ...columns,
]);
printTable(
  'Kills, by the point that they were aimed at',
  [...points, 'any time'],
  [['point', (name) => name], ...columns],
);
for (const line of failed) console.log(line);
process.exitCode = failed.length > 0 ? 1 : 0;
