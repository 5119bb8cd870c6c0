import { basename } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { common } from '../../common.ts';

/** Those that take longest. They are small, since they share a suite, and Vitest begins with the largest files. */
const LONGEST = ['durable-object', 'd1', 'libsql-server', 'postgres', 'redis', 'neon', 'dynamodb', 'mysql'];

/** Otherwise a worker would be left alone with a long file at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const order = new Map(LONGEST.map((name, index) => [`${name}.test.ts`, index]));
    const rank = ({ moduleId }: TestSpecification) => order.get(basename(moduleId)) ?? LONGEST.length;
    return sorted.toSorted((one, other) => rank(one) - rank(other));
  }
}

export default defineConfig({
  test: {
    ...common,
    include: ['test/e2e/databases/*.test.ts'],
    sequence: { sequencer: LongestFirst },
    // The databases share the cores with the tests.
    maxWorkers: 3,
  },
});
