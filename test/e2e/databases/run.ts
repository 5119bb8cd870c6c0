/**
 * `npm run test:databases [name …]`: installs the drivers and the packages of the example stores, and checks the types of
 * this folder. It runs its test files, or those that are named: `postgres` for `postgres.test.ts`.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { listKinds, loadDatabase } from './load-database.ts';

const FOLDER = 'test/e2e/databases';
/** The stores of MongoDB and DynamoDB, with packages of their own. */
const STORES = 'examples/journals';

/** The names of the test files: those of the kinds, `docs`, and what is about one kind only, such as `mysql-table`. */
const names = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => name.slice(0, -'.test.ts'.length));
const named = process.argv.slice(2);
const unknown = named.filter((name) => !names.includes(name));
if (unknown.length > 0)
  throw new Error(`There is no database ${unknown.join(', ')}. There are: ${names.join(', ')}.`);

function run(command: string, args: string[], options: { cwd?: string } = {}): void {
  const { status } = spawnSync(command, args, { stdio: 'inherit', ...options });
  if (status !== 0) throw new Error(`${[command, ...args].join(' ')} failed.`);
}

// The lock file names some binaries for one platform only, and `npm ci` refuses that on any other machine.
for (const cwd of [FOLDER, STORES])
  run('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--silent'], { cwd });
run('tsc', ['--noEmit', '--project', STORES]);
run('tsc', ['--noEmit', '--project', FOLDER]);

// A filter of vitest is a part of a path, so it begins with the folder and has the end of the name.
const filters = named.map((name) => `${FOLDER}/${name}.test.ts`);
try {
  run('vitest', ['run', '--config', `${FOLDER}/vitest.config.ts`, ...filters]);
} finally {
  for (const kind of listKinds().filter((kind) => named.length === 0 || named.includes(kind))) {
    const { missing } = await loadDatabase(kind);
    if (missing !== undefined) console.log(`${kind} was skipped: ${missing}`);
  }
}
