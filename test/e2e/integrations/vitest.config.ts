import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['examples/integrations/test/*.test.ts'],
    // One of the tests builds an application with Next.
    testTimeout: 60_000,
    hookTimeout: 300_000,
    restoreMocks: true,
    fileParallelism: false,
  },
});
