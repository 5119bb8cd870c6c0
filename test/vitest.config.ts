import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    testTimeout: 20_000,
    restoreMocks: true,
    // The longest tests wait rather than compute: on two cores the default would run all files one after the other.
    maxWorkers: 3,
    projects: [
      {
        extends: true,
        test: {
          name: 'package',
          include: ['test/**/*.test.ts'],
          exclude: ['test/{integrations,package,workflows}/**'],
          typecheck: { enabled: true, include: ['test/**/*.test-d.ts'] },
        },
      },
      {
        // Merchants may still have MSW 2.
        extends: true,
        resolve: { alias: [{ find: /^msw(\/.*)?$/, replacement: 'msw-2$1' }] },
        test: {
          name: 'msw 2',
          include: ['test/testing/*.test.ts'],
          exclude: ['test/testing/optional-peer.test.ts'],
        },
      },
    ],
  },
});
