import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { PGlite } from '@electric-sql/pglite';
import { expect, onTestFinished, test } from 'vitest';
import { fromQuery, postgresJournal } from '../../../src/journal/postgres.ts';
import { claimKey, tryClaim } from '../../helpers/claims.ts';
import { catchError } from '../../helpers/service.ts';
import { database } from './kinds/pglite.ts';
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
  { setsIsolation: false },
);

test('refuses to charge after BEGIN on PGlite itself', async () => {
  const db = new PGlite();
  onTestFinished(() => db.close());
  const journal = postgresJournal(fromQuery((text, values) => db.query(text, values)));
  await journal.migrate();
  await db.exec('BEGIN');
  expect(await catchError(tryClaim(journal, 'order-1'))).toMatchObject({
    name: 'JournalError',
    outcome: 'not_sent',
    message: expect.stringContaining('inside a transaction'),
  });
  await db.exec('COMMIT');
  expect(await journal.read('order-1')).toBeNull();
  expect(() => Reflect.apply(postgresJournal, undefined, [db])).toThrow('Use fromQuery(');
});

test('keeps each claim in PGlite when its process is killed', async () => {
  const { place, stop } = await database.start();
  onTestFinished(() => stop());
  const program = fileURLToPath(new URL('programs/pglite-claims.ts', import.meta.url));
  const child = spawn(process.execPath, [program, place]);
  onTestFinished(() => void child.kill('SIGKILL'));
  const claimed: string[] = [];
  for await (const key of createInterface(child.stdout)) {
    claimed.push(key);
    if (claimed.length === 25) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  expect(child.signalCode).toBe('SIGKILL');
  const { journal } = await database.open(place);
  for (const key of claimed) expect(await journal.read(key)).toMatchObject({ state: 'begun' });
  await claimKey(journal, 'order-next');
});
