import { defineConfig } from 'vitest/config';
import { common } from './common.ts';

export default defineConfig({
  test: {
    ...common,
    projects: [
      {
        extends: true,
        test: {
          name: 'package',
          include: ['test/**/*.test.ts'],
          exclude: ['test/{integrations,package,workflows}/**'],
          typecheck: {
            enabled: true,
            include: ['test/**/*.test-d.ts'],
            tsconfig: 'test/types/tsconfig.json',
          },
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
