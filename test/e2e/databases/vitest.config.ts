import { defineConfig } from 'vitest/config';
import { common } from '../../common.ts';

export default defineConfig({
  test: {
    ...common,
    // A hang is found late: beside other processes a database needs minutes for what takes seconds alone.
    testTimeout: 1_800_000,
    include: ['test/e2e/databases/*.test.ts'],
    // The databases share the cores with the tests.
    maxWorkers: 3,
  },
});
