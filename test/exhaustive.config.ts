import { globSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { common, elsewhere, exhaustiveOnly, mentions } from './common.ts';

const files = globSync('test/**/*.test.ts', { exclude: elsewhere }).filter((file) =>
  mentions(file, /\bsized\.ts'/),
);

// npm run test:exhaustive: the tests that npm test runs in a short form, in their whole size, and those that it leaves out.
export default defineConfig({
  test: {
    ...common,
    testTimeout: 1_800_000,
    env: { TEST_SIZE: 'exhaustive' },
    projects: [
      { extends: true, test: { name: 'exhaustive', include: [...files, ...exhaustiveOnly] } },
      {
        // Merchants might still have MSW 2.
        extends: true,
        resolve: { alias: [{ find: /^msw(\/.*)?$/, replacement: 'msw-2$1' }] },
        test: {
          name: 'msw 2',
          include: ['test/unit/developers/mock/*.test.ts'],
          exclude: ['test/unit/developers/mock/{optional-peer,printing}.test.ts'],
        },
      },
    ],
  },
});
