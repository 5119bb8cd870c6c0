import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { journalConformance } from '../../../src/testing/index.ts';
import { createSqliteHandle } from '../../helpers/sqlite-handle.ts';
import { openHandleStore, openStore } from '../../helpers/sqlite-stores.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';

describe('a file of SQLite conforms, each handle on its own connection', () => {
  let folder: ReturnType<typeof createTempFolder>;
  beforeAll(() => {
    folder = createTempFolder();
  });
  afterAll(() => folder.remove());

  const cases = journalConformance((storage) => {
    const database = new DatabaseSync(`${folder.path}/${storage}.db`);
    return { store: openStore(database), close: () => database.close() };
  });
  test.each(cases)('$name', ({ run }) => run());
});

describe('SQLite in memory conforms', () => {
  const database = new DatabaseSync(':memory:');
  afterAll(() => database.close());
  const cases = journalConformance((table) => openStore(database, table));
  test.concurrent.each(cases)('$name', ({ run }) => run());
});

describe('SQLite by a handle conforms', () => {
  const database = new DatabaseSync(':memory:');
  afterAll(() => database.close());
  const handle = createSqliteHandle(database);
  const cases = journalConformance((table) => openHandleStore(handle, table));
  test.concurrent.each(cases)('$name', ({ run }) => run());
});
