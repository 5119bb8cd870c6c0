import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sqliteJournal } from '../../../src/stores/sqlite/index.ts';
import { describeWorkflow } from './scenarios.ts';

describeWorkflow({
  name: 'One Node process with SQLite',
  folder: 'plain',
  start: async (folder) => ({
    env: {},
    openJournal() {
      const database = new DatabaseSync(join(folder, 'journal.db'), { timeout: 5_000 });
      return { journal: sqliteJournal(database), close: () => database.close() };
    },
    stop: async () => {},
  }),
});
