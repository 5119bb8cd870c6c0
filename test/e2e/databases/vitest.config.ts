import { defineConfig } from 'vitest/config';
import { common } from '../../common.ts';

export default defineConfig({
  test: {
    ...common,
    include: ['test/e2e/databases/*.test.ts'],
    // The databases share the cores with the tests.
    maxWorkers: 3,
  },
});
