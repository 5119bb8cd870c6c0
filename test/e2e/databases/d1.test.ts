import { describe, expect, onTestFinished, test } from 'vitest';
import { type D1Binding, fromD1, sqliteJournal } from '../../../src/journal/sqlite.ts';
import { type CountingService, startCountingService } from './counting-service.ts';
import type { RunningDatabase } from './database.ts';
import { describeInsideWorkerd, useWorkerShop } from './inside-workerd.ts';
import { database } from './kinds/d1.ts';
import { connectD1 } from './remote-statements.ts';
import { chargeOrder, createClient } from './shop.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('d1', database);

describe('env.DB inside a Worker', () => describeInsideWorkerd('d1'));

describe('a session of D1', () => {
  const use = useWorkerShop();

  test('is refused, since it can read from a replica', async () => {
    await expect(use().shop.run('d1', 'session')).rejects.toThrow('the D1 database itself');
  });
});
