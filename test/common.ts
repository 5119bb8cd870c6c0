import { randomInt } from 'node:crypto';

if (process.env.PROPERTY_SEED === undefined) {
  process.env.PROPERTY_SEED = String(randomInt(2 ** 31));
  console.log(`Property tests use the seed ${process.env.PROPERTY_SEED}. PROPERTY_SEED sets it.`);
}

/** What `npm test` and `npm run test:exhaustive` have in common. */
export const common = {
  testTimeout: 20_000,
  restoreMocks: true,
  setupFiles: ['test/support/setup.ts'],
  // The longest tests wait rather than compute: on two cores the default would run all files one after the other.
  maxWorkers: 3,
};
