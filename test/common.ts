import { randomInt } from 'node:crypto';

if (process.env.PROPERTY_SEED === undefined) {
  process.env.PROPERTY_SEED = String(randomInt(2 ** 31));
  console.log(`Property tests use the seed ${process.env.PROPERTY_SEED}. PROPERTY_SEED sets it.`);
}

/** What `npm test` and `npm run test:exhaustive` have in common. */
export const common = {
  // A test that hangs fails by this. No promise is held by it, since other processes can keep the machine busy.
  testTimeout: 60_000,
  hookTimeout: 60_000,
  restoreMocks: true,
  setupFiles: ['test/support/setup.ts'],
  // The longest tests wait rather than compute: on two cores the default would run all files one after the other.
  maxWorkers: 3,
};
