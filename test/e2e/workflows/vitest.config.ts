import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/e2e/workflows/*.test.ts'],
    // An engine needs time to notice that a worker was killed.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // The tests mostly wait. Two files at once keep two cores busy, and leave the timing of each as it is.
    maxWorkers: 2,
  },
});
