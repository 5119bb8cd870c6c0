import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { PGlite } from '@electric-sql/pglite';
import { expect, onTestFinished, test } from 'vitest';
import { fromQuery, postgresJournal } from '../../../src/stores/postgres/index.ts';
import { createPostgresStore } from '../../../src/stores/postgres/store.ts';
import { catchError } from '../../helpers/service.ts';
import { REFUSED } from '../../helpers/store-suite.ts';
import { createChange, readVersion, writeNew } from '../../helpers/store-writes.ts';
import { database, openHandle } from './kinds/pglite.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('pglite', database);

test.each(['BEGIN', 'transaction()'])('refuses to write inside a transaction of PGlite: %s', async (how) => {
  const db = new PGlite();
  onTestFinished(() => db.close());
  const toHandle = (client: Pick<PGlite, 'query'>) => fromQuery((text, values) => client.query(text, values));
  await postgresJournal(toHandle(db)).migrate();
  const store = createPostgresStore(toHandle(db), 'payments_journal');
  const expectRefusal = async (client: Pick<PGlite, 'query'>) => {
    const inside = createPostgresStore(toHandle(client), 'payments_journal');
    expect(await catchError(inside.write('order 1', createChange()))).toMatchObject(REFUSED);
  };
  if (how === 'BEGIN') {
    await db.exec('BEGIN');
    await expectRefusal(db);
    await db.exec('COMMIT');
  } else await db.transaction(expectRefusal);
  expect(await readVersion(store, 'order 1')).toBeNull();
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
