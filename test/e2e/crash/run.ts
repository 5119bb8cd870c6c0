// npm run crashproof: thousands of charges by workers that are killed, on each journal in turn.
import { parseArgs } from 'node:util';
import { type Outcome, type RunOptions, runCrashProof } from './harness.ts';
import { controls, type JournalKind } from './kinds.ts';
import { nameOf, printKills, printOutcomes } from './report.ts';
import { onFile, onPostgres, onRedis } from './servers.ts';

const { values } = parseArgs({
  options: {
    keys: { type: 'string', default: '3000' },
    workers: { type: 'string', default: '4' },
    kills: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
    journal: { type: 'string', default: 'all' },
  },
});

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

const outcomes: Outcome[] = [];
const run = async (options: Partial<RunOptions> & { kind: JournalKind }) => {
  const outcome = await runCrashProof({ ...common, ...options });
  outcomes.push(outcome);
  console.log(`${nameOf(outcome)}: ${Math.round(outcome.seconds)} s, ${outcome.doubled} charged twice`);
  for (const untruth of outcome.untruths.slice(0, 20)) console.log(`  ${untruth}`);
};

const onServer = { sqlite: onFile, postgres: onPostgres, redis: onRedis };
for (const kind of chosen) {
  // Each run has a database of its own.
  for (const person of [false, true]) await onServer[kind]((url) => run({ kind, url, person }));
}
// Without a journal, and with those that do not keep the promise, the harness has to see what it looks for.
const some = { keys: Math.min(common.keys, 500), kills: Math.min(common.kills, 50) };
for (const kind of controls) await run({ kind, ...some });

printOutcomes(`Seed ${common.seed}, ${common.workers} workers, Node ${process.version}`, outcomes);
printKills(outcomes);
const isControl = ({ kind }: Outcome) => controls.includes(kind);
const failed = outcomes.filter((outcome) =>
  isControl(outcome) ? outcome.doubled === 0 : outcome.doubled > 0 || outcome.untruths.length > 0,
);
for (const outcome of failed)
  console.log(`${nameOf(outcome)}: ${isControl(outcome) ? 'NOTHING WAS SEEN' : 'THE PROMISE DOES NOT HOLD'}`);
process.exitCode = failed.length > 0 ? 1 : 0;
