import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/e2e/workflows/*.test.ts'],
    // An engine needs time to notice that a worker was killed.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // The tests mostly wait: two files at once would leave two cores idle for more than half of the time.
    maxWorkers: 4,
  },
});
