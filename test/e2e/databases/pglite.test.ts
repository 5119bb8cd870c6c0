import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { getJournalCore } from '../../../src/journal/core.ts';
import { fromQuery, type PostgresJournal, postgresJournal } from '../../../src/journal/postgres.ts';
import { chargeIntent, claimKey } from '../../helpers/claims.ts';
import { claimDueKeys } from '../../helpers/listed-keys.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';
import { database } from './kinds/pglite.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('pglite', database);

describe('the handle of PGlite', () => {
  const refused = {
    name: 'JournalError',
    outcome: 'not_sent',
    message: expect.stringContaining('inside a transaction'),
  };

  let db: PGlite;
  let journal: PostgresJournal;
  beforeAll(async () => {
    db = new PGlite();
    journal = postgresJournal(fromQuery((text, values) => db.query(text, values)));
    await journal.migrate();
    await claimKey(journal, 'order-1');
  });
  afterAll(() => db?.close());

  test('refuses to charge inside a transaction, and writes nothing into it', async () => {
    await db.transaction(async (own) => {
      const inside = postgresJournal(fromQuery((text, values) => own.query(text, values)));
      expect(await catchError(getJournalCore(inside).claim('order-2', chargeIntent))).toMatchObject(refused);
      expect(await catchError(claimDueKeys(inside))).toMatchObject(refused);
    });
    await db.exec('BEGIN');
    expect(await catchError(getJournalCore(journal).claim('order-2', chargeIntent))).toMatchObject(refused);
    await db.exec('COMMIT');
    expect(await journal.read('order-2')).toBeNull();
    await claimKey(journal, 'order-2');
  });

  test('resolves as a part of a transaction', async () => {
    await getJournalCore(journal).complete(await claimKey(journal, 'order-3'), { state: 'unknown' });
    for (const [ending, state] of [
      ['ROLLBACK', 'unknown'],
      ['COMMIT', 'not_charged'],
    ] as const) {
      await db.exec('BEGIN');
      await journal.resolve('order-3', 'not_charged', note);
      await db.exec(ending);
      expect(await journal.read('order-3')).toMatchObject({ state });
    }
  });

  test('names migrate if the table is missing', async () => {
    const handle = fromQuery((text, values) => db.query(text, values));
    const missing = postgresJournal(handle, { table: 'missing' });
    expect(String(await catchError(getJournalCore(missing).claim('order-1', chargeIntent)))).toContain(
      'journal.migrate()',
    );
  });

  test('is named by postgresJournal for PGlite as it is', () => {
    expect(() => Reflect.apply(postgresJournal, undefined, [db])).toThrow('Use fromQuery(');
  });
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
