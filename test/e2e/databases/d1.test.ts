import { afterAll, beforeAll, describe, test } from 'vitest';
import { journalConformance } from '../../../src/testing/index.ts';
import type { RunningDatabase } from './database.ts';
import * as d1 from './kinds/d1.ts';
import * as object from './kinds/durable-object.ts';

describe.each([
  ['d1', d1.database],
  ['object', object.database],
] as const)('%s', (_, database) => {
  let running: RunningDatabase;
  beforeAll(async () => {
    running = await database.start();
  });
  afterAll(() => running.stop());
  test.concurrent.each(journalConformance((options) => database.open(running.place, options)))(
    '$name',
    ({ run }) => run(),
  );
});
