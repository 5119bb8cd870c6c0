import Database from 'better-sqlite3';
import { describeDriver } from '../../helpers/sqlite-drivers.ts';
import { database } from './kinds/better-sqlite3.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('better-sqlite3', database, { statementsOf: 'sqlite' });

describeDriver({
  open: (file) => new Database(file),
  close: (handle) => void handle.close(),
  openBigInts: (file) => new Database(file).defaultSafeIntegers(),
  toArrays(file) {
    const database = new Database(file);
    const prepare = (sql: string) => {
      const statement = database.prepare(sql);
      return statement.reader ? statement.raw() : statement;
    };
    return { database, arrays: { exec: (sql) => database.exec(sql), prepare } };
  },
});
