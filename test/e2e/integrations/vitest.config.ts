import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['examples/integrations/test/*.test.ts', 'test/e2e/docker-compose/*.test.ts'],
    // One of the tests builds an application with Next, and one installs the packages of an image.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    restoreMocks: true,
    fileParallelism: false,
  },
});
