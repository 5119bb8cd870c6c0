import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    name: 'as shipped',
    include: ['test/e2e/package/*.test.ts'],
    globalSetup: ['test/e2e/package/install.ts'],
    // Each test starts a runtime or a compiler, and the machine might be busy.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    maxWorkers: 2,
  },
});
