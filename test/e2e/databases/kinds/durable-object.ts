import { sqliteJournal } from '../../../../src/journal/sqlite.ts';
import type { TestDatabase } from '../database.ts';
import { dumpTables, startHandles } from '../handles.ts';
import { connectObject } from '../remote-statements.ts';

/** The storage of a Durable Object in workerd. Other processes reach it through the object, which has the handle. */
export const database: TestDatabase = {
  start: startHandles,
  prepare: async () => {},
  open: async (place, options) => ({
    journal: sqliteJournal(connectObject(place), options),
    close: async () => {},
  }),
  dump: (place) => dumpTables(connectObject(place)),
};
