/**
 * `npm run test:databases [name …]`: installs the drivers and the packages of the example stores, and checks the types of
 * this folder. It runs its test files, or those that are named: `postgres` for `postgres.test.ts`. It ends with a table of
 * what the crash proofs counted.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { listKinds, loadDatabase } from './load-database.ts';
import { readMeasurements } from './measurements.ts';

const FOLDER = 'test/e2e/databases';
/** The stores of MongoDB and DynamoDB, with packages of their own. */
const STORES = 'examples/journals';

/** The parts that are read of the JSON that vitest writes. */
const resultsSchema = z.object({
  testResults: z.array(
    z.object({ name: z.string(), assertionResults: z.array(z.object({ status: z.string() })) }),
  ),
});

/** The names of the test files: those of the kinds, `docs`, and what is about one kind only, such as `mysql-table`. */
const names = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => name.slice(0, -'.test.ts'.length));
const named = process.argv.slice(2);
const unknown = named.filter((name) => !names.includes(name));
if (unknown.length > 0)
  throw new Error(`There is no database ${unknown.join(', ')}. There are: ${names.join(', ')}.`);

function run(
  command: string,
  args: string[],
  { cwd, env }: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): boolean {
  const { status } = spawnSync(command, args, { stdio: 'inherit', cwd, env: { ...process.env, ...env } });
  return status === 0;
}

function runOrThrow(command: string, args: string[], options: { cwd?: string } = {}): void {
  if (!run(command, args, options)) throw new Error(`${[command, ...args].join(' ')} failed.`);
}

// The lock file names some binaries for one platform only, and `npm ci` refuses that on any other machine.
for (const cwd of [FOLDER, STORES])
  runOrThrow('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--silent'], { cwd });
runOrThrow('tsc', ['--noEmit', '--project', STORES]);
runOrThrow('tsc', ['--noEmit', '--project', FOLDER]);

// A filter of vitest is a part of a path, so it begins with the folder and has the end of the name.
const filters = named.map((name) => `${FOLDER}/${name}.test.ts`);
const folder = mkdtempSync(join(tmpdir(), 'payments-databases-'));
const files = { measured: join(folder, 'measured.jsonl'), results: join(folder, 'results.json') };
try {
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${files.results}`];
  const hasPassed = run(
    'vitest',
    ['run', '--config', `${FOLDER}/vitest.config.ts`, ...reporters, ...filters],
    { env: { DATABASES_MEASURED: files.measured } },
  );
  if (existsSync(files.results)) printTable();
  for (const kind of listKinds().filter((kind) => named.length === 0 || named.includes(kind))) {
    const { missing } = await loadDatabase(kind);
    if (missing !== undefined) console.log(`${kind} was skipped: ${missing}`);
  }
  process.exitCode = hasPassed ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function printTable(): void {
  const cases = countCases(readFileSync(files.results, 'utf8'));
  const measured = readMeasurements(files.measured);
  const rows = Object.entries(cases).map(([kind, counts]) => {
    const own = measured.filter((measurement) => measurement.kind === kind);
    const charges = own.find(({ proof }) => proof === 'charges');
    const followUps = own.find(({ proof }) => proof === 'follow-ups');
    return {
      kind,
      ...counts,
      kills: own.length === 0 ? '-' : own.reduce((sum, { kills }) => sum + kills, 0),
      charges: charges?.charges ?? '-',
      'charged twice': charges?.chargedTwice ?? '-',
      'followed up': followUps?.charges ?? '-',
    };
  });
  const byKind = rows.map(({ kind, ...row }) => [kind, row] as const);
  console.table(Object.fromEntries(byKind));
}

/** Returns how many tests passed, failed and were skipped, by the name of their file. */
function countCases(results: string): Record<string, { passed: number; failed: number; skipped: number }> {
  const { testResults } = resultsSchema.parse(JSON.parse(results));
  const counted = testResults.map(({ name, assertionResults }) => {
    const count = (...statuses: string[]) =>
      assertionResults.filter(({ status }) => statuses.includes(status)).length;
    const kind = name.replace(/^.*\//, '').replace(/\.test\.ts$/, '');
    const skipped = count('skipped', 'pending', 'todo', 'disabled');
    return [kind, { passed: count('passed'), failed: count('failed'), skipped }] as const;
  });
  return Object.fromEntries(counted.sort(([one], [other]) => one.localeCompare(other)));
}
