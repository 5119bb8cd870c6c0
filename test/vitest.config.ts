import { defineConfig } from 'vitest/config';
import { common, elsewhere, testFilesWith } from './common.ts';

/**
 * A file that changes, or counts, what belongs to the whole process has a process of its own. The others share theirs:
 * to start one for each file would take a third of the time.
 */
const alone = testFilesWith(
  /vi\.(?!fn\b)\w|fake-timers|setupServer|testOver\(undici|process\.(?:on|once|chdir|env|memoryUsage)|globalThis|getActiveResources|performance\.now|process\._|async_hooks|diagnostics_channel|gc\(|Worker\(|concurrent|pg'|redis'/,
);

export default defineConfig({
  test: {
    ...common,
    projects: [
      {
        extends: true,
        test: {
          name: 'shared',
          include: ['test/**/*.test.ts'],
          exclude: [elsewhere, ...alone],
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'package',
          include: alone,
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
