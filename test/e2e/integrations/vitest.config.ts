import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['examples/integrations/test/*.test.ts'],
    // Next builds its application in one of them.
    testTimeout: 60_000,
    hookTimeout: 300_000,
    restoreMocks: true,
    fileParallelism: false,
  },
});
