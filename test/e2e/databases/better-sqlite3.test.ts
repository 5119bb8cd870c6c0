import Database from 'better-sqlite3';
import { onTestFinished } from 'vitest';
import { describeDriver } from '../../helpers/sqlite-drivers.ts';
import { database } from './kinds/better-sqlite3.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('better-sqlite3', database, { statementsOf: 'sqlite' });

describeDriver({
  open: (file) => new Database(file),
  close: (handle) => void handle.close(),
  readPragma: (handle, name) => handle.pragma(name, { simple: true }),
  openBigInts: (file) => new Database(file).defaultSafeIntegers(),
  openArrays(file) {
    const handle = new Database(file);
    onTestFinished(() => void handle.close());
    return {
      exec: (sql) => handle.exec(sql),
      prepare(sql) {
        const statement = handle.prepare(sql);
        return statement.reader ? statement.raw() : statement;
      },
    };
  },
});
