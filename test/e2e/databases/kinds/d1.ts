import { fromD1, sqliteJournal } from '../../../../src/stores/sqlite/index.ts';
import type { TestDatabase } from '../database.ts';
import { connectD1, dumpTables } from '../remote-statements.ts';

/** D1 of workerd. Other processes reach it through a Worker, which has the database. */
export const database: TestDatabase = {
  conformsInTurn: 'workerd closes a connection on which a busy process is late to send its request',
  // Workers only connect.
  start: async () => (await import('../worker-shop.ts')).startHandles(),
  prepare: async () => {},
  open: async (place, options, table) => ({
    journal: sqliteJournal(fromD1(connectD1(place)), { ...options, table }),
    close: async () => {},
  }),
  dump: (place) => dumpTables(fromD1(connectD1(place))),
};
