import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/e2e/workflows/*.test.ts'],
    // Engines take their time to give up on a worker that was killed.
    testTimeout: 120_000,
    hookTimeout: 60_000,
    fileParallelism: false,
  },
});
