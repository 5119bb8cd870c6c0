import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/e2e/databases/*.test.ts'],
    // A database needs time to start, and to come back.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    restoreMocks: true,
    setupFiles: ['test/helpers/setup.ts'],
    globalSetup: ['test/helpers/shared-installations.ts'],
    maxWorkers: 2,
  },
});
