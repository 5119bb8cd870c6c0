import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { PGlite } from '@electric-sql/pglite';
import { expect, onTestFinished, test } from 'vitest';
import { fromQuery, postgresJournal } from '../../../src/journal/postgres.ts';
import { createPostgresStore } from '../../../src/journal/postgres-store.ts';
import { catchError } from '../../helpers/service.ts';
import { createChange, readVersion, writeNew } from '../../helpers/store-writes.ts';
import { database, openHandle } from './kinds/pglite.ts';
import { describeDriver } from './postgres-handle-tests.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('pglite', database);

describeDriver(
  'PGlite',
  () => database.start(),
  (place) => {
    const db = new PGlite(place);
    return {
      handle: fromQuery((text, values) => db.query(text, values)),
      transact: (use) => db.transaction((own) => use(fromQuery((text, values) => own.query(text, values)))),
      close: () => db.close(),
    };
  },
  { conforms: false, setsIsolation: false },
);

test('refuses to write after BEGIN on PGlite itself', async () => {
  const db = new PGlite();
  onTestFinished(() => db.close());
  const handle = fromQuery((text, values) => db.query(text, values));
  await postgresJournal(handle).migrate();
  const store = createPostgresStore(handle, 'payments_journal');
  await db.exec('BEGIN');
  expect(await catchError(store.write('order 1', createChange()))).toMatchObject({
    name: 'JournalError',
    outcome: 'not_sent',
    message: expect.stringContaining('inside a transaction'),
  });
  await db.exec('COMMIT');
  expect(await readVersion(store, 'order 1')).toBeNull();
  expect(() => Reflect.apply(postgresJournal, undefined, [db])).toThrow('Use fromQuery(');
});

test('keeps each record in PGlite when its process is killed', async () => {
  const { place, stop } = await database.start();
  onTestFinished(() => stop());
  const program = fileURLToPath(new URL('programs/pglite-writes.ts', import.meta.url));
  const child = spawn(process.execPath, [program, place]);
  onTestFinished(() => void child.kill('SIGKILL'));
  const written: string[] = [];
  for await (const key of createInterface(child.stdout)) {
    written.push(key);
    if (written.length === 25) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  expect(child.signalCode).toBe('SIGKILL');
  const store = createPostgresStore(openHandle(place), 'payments_journal');
  for (const key of written) expect(await readVersion(store, key)).toBe(`of ${key}`);
  await writeNew(store, 'order next');
});
