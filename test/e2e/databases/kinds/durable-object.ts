import { sqliteJournal } from '../../../../src/stores/sqlite/index.ts';
import type { TestDatabase } from '../database.ts';
import { connectObject, dumpTables } from '../remote-statements.ts';

/** The storage of a Durable Object in workerd. Other processes reach it through the object, which has the handle. */
export const database: TestDatabase = {
  conformsInTurn: 'workerd closes a connection on which a busy process is late to send its request',
  // Workers only connect.
  start: async () => (await import('../worker-shop.ts')).startHandles(),
  prepare: async () => {},
  open: async (place, options, table) => ({
    journal: sqliteJournal(connectObject(place), { ...options, table }),
    close: async () => {},
  }),
  dump: (place) => dumpTables(connectObject(place)),
};
