import { defineConfig } from 'vitest/config';
import { common, testFilesWith } from './common.ts';

// npm run test:exhaustive: the tests that npm test runs in a short form, in their whole size.
export default defineConfig({
  test: {
    ...common,
    name: 'exhaustive',
    include: testFilesWith(/support\/sized\.ts'/),
    env: { TEST_SIZE: 'exhaustive' },
  },
});
