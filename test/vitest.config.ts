import { defineConfig } from 'vitest/config';
import { common, sortByWorker } from './common.ts';

const { own, shared } = sortByWorker();

export default defineConfig({
  test: {
    ...common,
    // Most files end before it pays to optimise their code: this takes off a tenth of the time.
    execArgv: [...common.execArgv, '--max-opt=2'],
    // What fails, with what it printed, and the numbers at the end.
    reporters: ['minimal'],
    silent: 'passed-only',
    projects: [
      { extends: true, test: { name: 'isolated', include: own } },
      {
        extends: true,
        test: {
          name: 'package',
          include: shared,
          isolate: false,
          env: { SHARES_WORKER: 'yes' },
        },
      },
      {
        // Merchants might still have MSW 2.
        extends: true,
        resolve: { alias: [{ find: /^msw(\/.*)?$/, replacement: 'msw-2$1' }] },
        test: {
          name: 'msw 2',
          // The whole folder is run with MSW 2 by `npm run test:exhaustive`.
          include: ['test/unit/developers/mock/{handlers,mock}.test.ts'],
        },
      },
    ],
  },
});
