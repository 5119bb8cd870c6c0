/**
 * Puts each fault of faults.ts into a copy of the tree, and shows which test finds it: `npm run faults`, before a release. With
 * `-- --only ID` some of them (`--only http`: whose id begins so), with `--from ID` those from that one on, with `--suite unit` one
 * suite alone, with `--near` the tests of nearby folders alone, and with `--jobs 2` so many at once. It ends with 1 if one was not found by an
 * assertion, or does not compile.
 */

import { randomInt } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Fault, faults, putIn } from './faults.ts';
import { createRelated, findStore } from './related.ts';
import {
  areDriversInstalled,
  type Copy,
  createCopy,
  runDatabase,
  runProgram,
  runTests,
  type SuiteResult,
} from './suites.ts';
import { createTypeCheck } from './types.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    from: { type: 'string' },
    jobs: { type: 'string', default: String(Math.max(1, availableParallelism() - 1)) },
    suite: { type: 'string', multiple: true },
    near: { type: 'boolean', default: false },
  },
});

type SuiteName = 'unit' | 'explore' | 'simulate' | 'databases';

interface Stage {
  readonly suite: SuiteName;
  run(folder: string): Promise<SuiteResult>;
}

interface FoundFault {
  readonly fault: Fault;
  readonly suite?: SuiteName;
  readonly result: SuiteResult;
  readonly seconds: number;
}

if (!areDriversInstalled)
  console.log('Without the tests of databases: npm --prefix test/e2e/databases install --no-save');

const related = createRelated();
const check = createTypeCheck();

/** How many states of each world are visited: most faults are found after a few. */
const EXPLORED = ['1000', '8000', '40000'];
/** Seeds that nobody chose. */
const SIMULATED = ['--seed', String(randomInt(1e6)), '--worlds', '1500'];

/** The suites that could find a fault of a file, those first that most likely do. */
function listStages(file: string): Stage[] {
  const [own = [], importers = [], others = []] = related(file);
  const store = findStore(file);
  const unit = (files: readonly string[]): Stage => ({
    suite: 'unit',
    run: (folder) => runTests(folder, files),
  });
  const stages: (Stage | false)[] = [
    unit(own),
    ...(file.startsWith('src/ledger/') ? EXPLORED : []).map(
      (states): Stage => ({
        suite: 'explore',
        run: (folder) => runProgram(folder, 'test/explore/run.ts', ['--states', states], /BROKEN.*/),
      }),
    ),
    store !== undefined && { suite: 'databases', run: (folder) => runDatabase(folder, store) },
    unit(importers),
    !values.near && unit(others),
    !values.near && {
      suite: 'simulate',
      run: (folder) => runProgram(folder, 'test/simulate/run.ts', SIMULATED, /^(?:seed|Never occurred) .*/m),
    },
  ];
  return stages
    .filter((stage) => stage !== false)
    .filter(({ suite }) => values.suite?.includes(suite) ?? true);
}

/** How often a suite is run whose failure does not come again. */
const MAX_RUNS = 3;

/** Runs a suite. A test counts if it fails again by itself: on a busy machine one can fail by chance. */
async function runConfirmed(
  folder: string,
  suite: SuiteName,
  run: (folder: string) => Promise<SuiteResult>,
): Promise<SuiteResult> {
  let result: SuiteResult = {};
  for (let runs = 0; runs < MAX_RUNS; runs++) {
    result = await run(folder);
    if (result.file === undefined || suite !== 'unit') return result;
    const again = await runTests(folder, [result.file]);
    if (again.test !== undefined) return again;
  }
  return { problem: `${result.file}: ${result.test} fails by chance` };
}

async function findFault(fault: Fault, { folder }: Copy): Promise<FoundFault> {
  const invalid = findProblem(fault);
  if (invalid !== undefined) return { fault, result: { problem: invalid }, seconds: 0 };
  const path = join(folder, fault.file);
  const text = readFileSync(fault.file, 'utf8');
  writeFileSync(path, putIn(text, fault));
  const startedAt = performance.now();
  const getSeconds = () => Math.round((performance.now() - startedAt) / 1000);
  let problem: string | undefined;
  try {
    for (const { suite, run } of listStages(fault.file)) {
      const result = await runConfirmed(folder, suite, run);
      if (result.test !== undefined) return { fault, suite, result, seconds: getSeconds() };
      problem ??= result.problem;
    }
    return { fault, result: { problem }, seconds: getSeconds() };
  } finally {
    writeFileSync(path, text);
  }
}

function selectFaults(): Fault[] {
  const { only, from } = values;
  const start = from === undefined ? 0 : faults.findIndex(({ id }) => id === from);
  if (start < 0) throw new Error(`There is no fault ${from}.`);
  return faults.slice(start).filter(({ id }) => only?.some((name) => id.startsWith(name)) ?? true);
}

/** Says why a fault cannot be tried, if so: it does not fit its file, or does not compile. */
function findProblem(fault: Fault): string | undefined {
  try {
    const errors = check(fault, putIn(readFileSync(fault.file, 'utf8'), fault));
    return errors.length > 0 ? `does not compile: ${errors.join(' ')}` : undefined;
  } catch (error) {
    return String(error);
  }
}

function print({ fault, suite, result, seconds }: FoundFault): void {
  const how = suite
    ? `${suite.padEnd(9)} ${result.file}: ${result.test}`
    : `NOT FOUND ${result.problem ?? ''}`;
  console.log(`${fault.id.padEnd(34)} ${String(seconds).padStart(4)} s  ${how}`);
}

async function findAll(selected: readonly Fault[]): Promise<FoundFault[]> {
  const found: FoundFault[] = [];
  const waiting = [...selected];
  const work = async () => {
    const copy = createCopy();
    try {
      for (let fault = waiting.shift(); fault; fault = waiting.shift()) {
        const one = await findFault(fault, copy);
        print(one);
        found.push(one);
      }
    } finally {
      copy.remove();
    }
  };
  await Promise.all(Array.from({ length: Number(values.jobs) }, work));
  return found;
}

/** The tests that found a fault pass without one. */
async function findFlaky(found: readonly FoundFault[]): Promise<string | undefined> {
  const files = new Set(
    found.flatMap(({ suite, result }) => (suite === 'unit' && result.file ? [result.file] : [])),
  );
  const copy = createCopy();
  try {
    const { test, problem } = await runTests(copy.folder, [...files]);
    return test ?? problem;
  } finally {
    copy.remove();
  }
}

const selected = selectFaults();
const found = await findAll(selected);
const missed = found.filter(({ suite }) => suite === undefined);
for (const [suite, ofSuite] of Object.entries(Object.groupBy(found, ({ suite = 'none' }) => suite)))
  console.log(`${suite}: ${ofSuite?.length}`);
console.log(`${found.length - missed.length} of ${found.length} faults found`);
for (const { fault } of missed) console.log(`not found: ${fault.id}: ${fault.what} (${fault.file})`);
const flaky = await findFlaky(found);
if (flaky !== undefined) console.log(`fails without a fault: ${flaky}`);
process.exitCode = missed.length > 0 || flaky !== undefined ? 1 : 0;
