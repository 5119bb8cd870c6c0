import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PATIENCE } from './helpers/patience.ts';

/**
 * What the property tests draw their values from. It is the same in each run, because a gate must not fail by chance.
 * `npm run soak` tries other seeds.
 */
process.env.PROPERTY_SEED ??= '20261123';

// The hundreds of processes that tests start load their modules in half the time: Node keeps what it compiled, by the path of the file.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '../node_modules/.cache/compiled');

/** Where nothing is run but the runs of `npm run test:*` of their own. */
export const elsewhere = ['test/e2e/{databases,docker-compose,integrations,package,workflows}/**'];

/**
 * Run by `npm run test:exhaustive` only: what opens Chromium, what tries commands and the build in tens of processes, and
 * what has its short form elsewhere. `http/` is run over fetch, `node/` keeps the tests of its own, and
 * `sandbox/pages.test.ts` reads the pages. `simulate/` kills the processes of charges, follow-ups and orders.
 * `operators/command/config.test.ts` runs the command on SQLite. `docs/blocks.test.ts` runs the README. `npm run check` checks the
 * types, validates the comments that the API site is made of, and shows each change of an export or an option.
 */
export const exhaustiveOnly = [
  'test/e2e/browser/*.test.ts',
  'test/e2e/crash/*.test.ts',
  'test/e2e/docs/{api-site,api,errors,events,examples,options}.test.ts',
  'test/e2e/docs/{first-charge,follow-ups-from-cron,payment-sandbox,runbook}.test.ts',
  'test/unit/**/optional-peer.test.ts',
  'test/unit/operators/command/process.test.ts',
  'test/unit/node/{responses,socket-closes,call-ends}.test.ts',
  'test/unit/node/fault-sweep/**',
  'test/unit/polling/processes.test.ts',
  'test/unit/developers/probe/process.test.ts',
  'test/unit/developers/sandbox/{cli,installed}.test.ts',
  'test/unit/types/*.test.ts',
];

/** Whether a module matches, itself or one that it imports. */
export function mentions(file: string, pattern: RegExp, seen = new Set<string>()): boolean {
  if (seen.has(file) || !file.startsWith('test') || !existsSync(file)) return false;
  seen.add(file);
  const text = readFileSync(file, 'utf8');
  const imports = text.matchAll(/(?:from|import) ?\(?'(\.[^']+\.ts)'/g);
  return (
    pattern.test(text) ||
    [...imports].some(([, path = '']) => mentions(join(dirname(file), path), pattern, seen))
  );
}

/**
 * What a test file does that could reach the next one in its worker. test/helpers/setup.ts finds what it leaves behind. A
 * module is loaded once in a worker: tests that are imported from another file would not be run again.
 */
const NEEDS_OWN_WORKER =
  /vi\.(?:mock|resetModules)\(|^testWithTransport\(|setGlobalDispatcher|diagnostics_channel|setFlagsFromString|memoryUsage|process\.(?:on|chdir)\(/m;

/** The files of `npm test`, by whether each needs a worker of its own. The others save 0.4 s of CPU each in a shared one. */
export function sortByWorker(): { own: string[]; shared: string[] } {
  const files = globSync('test/**/*.test.ts', { exclude: [...elsewhere, ...exhaustiveOnly] });
  const { own = [], shared = [] } = Object.groupBy(files, (file) =>
    mentions(file, NEEDS_OWN_WORKER) ? 'own' : 'shared',
  );
  return { own, shared };
}

/** What `npm test` and `npm run test:exhaustive` have in common. */
export const common = {
  // A test that hangs fails by this. No promise is held by it, since other processes can keep the machine busy.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: PATIENCE } },
  restoreMocks: true,
  setupFiles: ['test/helpers/setup.ts'],
  globalSetup: ['test/helpers/shared-installations.ts', 'test/helpers/shared-postgres.ts'],
  // V8's threads that collect garbage wait for each other on busy cores: with these flags the tests take 0.6 of the CPU time.
  execArgv: ['--single-threaded-gc', '--max-semi-space-size=64'],
  // The longest tests wait rather than compute: on two cores the default would run all files one after the other.
  maxWorkers: 4,
};
