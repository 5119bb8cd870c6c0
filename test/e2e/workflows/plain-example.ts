import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import { findFreePort } from '../../helpers/free-port.ts';
import type { WorkflowExample } from './example.ts';

export const plain: WorkflowExample = {
  name: 'One Node process with SQLite',
  folder: 'plain',
  async start(folder) {
    const file = join(folder, 'journal.db');
    return {
      env: { SHOP_URL: `http://127.0.0.1:${await findFreePort()}` },
      openJournal() {
        const database = new DatabaseSync(file, { timeout: 5_000 });
        return { journal: sqliteJournal(database), close: () => database.close() };
      },
      stop: async () => {},
    };
  },
};
