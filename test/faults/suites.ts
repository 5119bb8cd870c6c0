/** Runs the suites in a copy of the tree, and reads which test failed. */

import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod/mini';

/** A copy of the tree, in which a fault can be put. What is installed and built is that of the tree. */
export interface Copy {
  readonly folder: string;
  remove(): void;
}

/** What is not copied, but linked. */
const LINKED = ['node_modules', 'dist', 'test/e2e/databases/node_modules', 'test/e2e/databases/generated'];

export function createCopy(): Copy {
  const folder = mkdtempSync(join(tmpdir(), 'payments-faults-'));
  const isCopied = (path: string) => !/(?:^|\/)(?:node_modules|dist|generated|\.git)$/.test(path);
  for (const name of readdirSync('.').filter(isCopied))
    cpSync(name, join(folder, name), { recursive: true, filter: isCopied });
  for (const name of LINKED) if (existsSync(name)) symlinkSync(realpathSync(name), join(folder, name));
  copies.add(folder);
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** How a suite ended. */
export interface SuiteResult {
  /** The test that failed by an assertion. */
  readonly test?: string | undefined;
  /** The file of that test. */
  readonly file?: string | undefined;
  /** Why it ended without one, if it did not pass. */
  readonly problem?: string | undefined;
}

/** No suite takes so long, in milliseconds. */
const MAX_TIME = 900_000;

/** A test that hangs is no assertion: it fails after so long, in milliseconds, and what it polls for earlier. */
const TEST_TIMEOUT = 90_000;
const PATIENCE = 40_000;

/** The groups of processes that run now, and the copies that they run in: a runner that is stopped leaves nothing behind. */
const running = new Set<number>();
const copies = new Set<string>();

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {}
}

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    for (const pid of running) killGroup(pid);
    for (const folder of copies) rmSync(folder, { recursive: true, force: true });
    process.exit(1);
  });

async function run(
  folder: string,
  args: readonly string[],
): Promise<{ code: number | null; output: string }> {
  const env = { ...process.env, DIST_IS_BUILT: 'yes', TEST_PATIENCE: String(PATIENCE) };
  const child = spawn(process.execPath, args, {
    cwd: folder,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const add = (data: unknown) => {
    output = `${output}${data}`.slice(-100_000);
  };
  child.stdout.on('data', add);
  child.stderr.on('data', add);
  const { pid } = child;
  if (pid !== undefined) running.add(pid);
  const end = () => pid !== undefined && killGroup(pid);
  const timer = setTimeout(end, MAX_TIME);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  clearTimeout(timer);
  // What tests have started ends with them.
  end();
  if (pid !== undefined) running.delete(pid);
  return { code, output };
}

const reportSchema = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.optional(z.string()),
      assertionResults: z.array(
        z.object({
          fullName: z.string(),
          status: z.string(),
          failureMessages: z.nullish(z.array(z.string())),
        }),
      ),
    }),
  ),
});

/** What is thrown for a reason that says nothing about the fault. */
const NO_ASSERTION = /^(?:\w+: )?(?:Test timed out|Hook timed out)|^(?:SyntaxError|ReferenceError)\b/;

/** Runs test files of vitest until the first fails. */
export async function runTests(
  folder: string,
  files: readonly string[],
  config = 'test/vitest.config.ts',
): Promise<SuiteResult> {
  if (files.length === 0) return {};
  const report = join(folder, 'faults-report.json');
  rmSync(report, { force: true });
  const limits = [`--testTimeout=${TEST_TIMEOUT}`, `--hookTimeout=${2 * TEST_TIMEOUT}`, '--maxWorkers=2'];
  const reporter = ['--reporter=json', `--outputFile=${report}`];
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', config, '--bail=1'];
  const { code, output } = await run(folder, [...vitest, ...limits, ...reporter, ...files]);
  if (code === 0) return {};
  if (!existsSync(report)) return { problem: output.slice(-600) };
  const { testResults } = z.parse(reportSchema, JSON.parse(readFileSync(report, 'utf8')));
  const failed = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.filter(({ status }) => status === 'failed').map((test) => ({ ...test, name })),
  );
  const found = failed.find(({ failureMessages }) => !NO_ASSERTION.test(failureMessages?.[0] ?? ''));
  if (found) return { test: found.fullName, file: found.name.slice(realpathSync(folder).length + 1) };
  const [hung] = failed;
  const unloaded = testResults.find(({ status, message }) => status === 'failed' && message);
  return {
    problem: hung
      ? `${hung.fullName}: ${hung.failureMessages?.[0]}`
      : (unloaded?.message ?? output.slice(-600)),
  };
}

/** Runs a program that prints what is wrong and ends with 1. */
export async function runProgram(
  folder: string,
  program: string,
  args: readonly string[],
  wrong: RegExp,
): Promise<SuiteResult> {
  if (!existsSync(join(folder, program))) return {};
  const { code, output } = await run(folder, [program, ...args]);
  if (code === 0) return {};
  const test = wrong.exec(output)?.[0];
  return test === undefined ? { problem: output.slice(-600) } : { test, file: program };
}

const DATABASES = 'test/e2e/databases';

export const areDriversInstalled = existsSync(join(DATABASES, 'node_modules'));

/** Runs the tests of a store against its database, if its driver is installed. */
export function runDatabase(folder: string, store: string): Promise<SuiteResult> {
  if (!areDriversInstalled) return Promise.resolve({});
  const files = globSync(`${DATABASES}/${store}{,-*}.test.ts`);
  return runTests(folder, files.sort(), `${DATABASES}/vitest.config.ts`);
}
