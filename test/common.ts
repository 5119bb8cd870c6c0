/**
 * What the property tests draw their values from. It is the same in each run, because a gate must not fail by chance.
 * `npm run soak` tries other seeds.
 */
process.env.PROPERTY_SEED ??= '20261123';

/** Where nothing is run but the runs of `npm run test:*` of their own. */
export const elsewhere = ['test/e2e/{databases,docker-compose,integrations,package,workflows}/**'];

/**
 * Run by `npm run test:exhaustive` only. Their short form is elsewhere: `http/` is run over fetch, `node/` keeps the tests
 * of its own, and `sandbox/pages.test.ts` reads the pages that `browser/` opens in Chromium. `property/` simulates the kills
 * of follow-ups and orders. `docs/blocks.test.ts` runs the README. `npm run check` validates the comments that the API site
 * is made of, and shows each change of an export or an option in the API report.
 */
export const exhaustiveOnly = [
  'test/e2e/browser/*.test.ts',
  'test/e2e/crash/{follow-ups,orders}.test.ts',
  'test/e2e/docs/{api-site,api,errors,events,examples,options}.test.ts',
  'test/e2e/docs/{first-charge,follow-ups-from-cron,payment-sandbox,runbook}.test.ts',
  'test/unit/node/{responses,socket-closes,call-ends}.test.ts',
  'test/unit/node/fault-sweep/**',
];

/** What `npm test` and `npm run test:exhaustive` have in common. */
export const common = {
  // A test that hangs fails by this. No promise is held by it, since other processes can keep the machine busy.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  restoreMocks: true,
  setupFiles: ['test/helpers/setup.ts'],
  globalSetup: ['test/helpers/shared-postgres.ts'],
  // The longest tests wait rather than compute: on two cores the default would run all files one after the other.
  maxWorkers: 4,
};
