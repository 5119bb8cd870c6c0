import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ConfigurationError } from '../../../src/index.ts';
import { type D1Binding, type D1Statement, fromD1, sqliteJournal } from '../../../src/journal/sqlite.ts';
import { claimKey } from '../../helpers/claims.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError, charge, sendJson, startService, successBodies } from '../../helpers/service.ts';
import { createSqliteHandle } from '../../helpers/sqlite-handle.ts';

/** What happens to a batch: it runs, it is not run, or it is run and its response is lost. */
type Fault = 'none' | 'not run' | 'response lost';

interface TestD1 {
  readonly binding: D1Binding;
  /** The statements of each batch that came in. */
  readonly batches: string[][];
}

/** A D1 database on `node:sqlite`. `decide` gives the fault of each batch. */
function openD1(
  decide: (statements: readonly string[]) => Fault,
  message = 'D1_ERROR: Network connection lost.',
): TestD1 {
  const database = new DatabaseSync(':memory:');
  onTestFinished(() => database.close());
  const handle = createSqliteHandle(database);
  const values = new WeakMap<D1Statement, { sql: string; values: (string | number | null)[] }>();
  const batches: string[][] = [];
  const prepare = (sql: string): D1Statement => {
    const statement: D1Statement = {
      bind(...bound) {
        const copy = prepare(sql);
        values.set(copy, { sql, values: bound });
        return copy;
      },
    };
    return statement;
  };
  const batch: D1Binding['batch'] = async (statements) => {
    const read = statements.map((statement) => values.get(statement) ?? { sql: '', values: [] });
    const texts = read.map(({ sql }) => sql);
    batches.push(texts);
    const fault = decide(texts);
    if (fault === 'not run') throw new Error(message);
    const results = await handle.batch(read);
    if (fault === 'response lost') throw new Error(message);
    return results.map((rows) => ({ success: true, results: rows }));
  };
  return { binding: { prepare, batch, withSession: () => ({}) }, batches };
}

const WRITE = /^(?:INSERT INTO|UPDATE) "payments_journal"/;
const READ = /^SELECT version/;

describe('fromD1', () => {
  test.each([undefined, null, {}, { prepare: () => {} }, 'env.DB'])('refuses %o', (database) => {
    // @ts-expect-error It is not a database.
    expect(() => fromD1(database)).toThrow(ConfigurationError);
  });

  test('refuses a session, which can read from a replica', () => {
    const { binding } = openD1(() => 'none');
    expect(() => fromD1(Object.assign(binding, { getBookmark: () => null }))).toThrow(
      'fromD1 takes the D1 database itself',
    );
  });

  test('charges once if the responses of writes and reads are lost', async () => {
    let isLost = true;
    const { binding } = openD1((statements) => {
      const isWrite = statements.some((sql) => WRITE.test(sql));
      // Each write, and the first time that the journal reads whether it was made.
      if (isWrite) isLost = true;
      else if (!statements.some((sql) => READ.test(sql)) || !isLost) return 'none';
      else isLost = false;
      return 'response lost';
    });
    const journal = sqliteJournal(fromD1(binding));
    const service = await startService((response) =>
      sendJson(response, 200, successBodies.chargeMobileMoney()),
    );
    const payments = service.client({ journal });
    const { reference } = await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' });
    expect(service.requests).toHaveLength(1);
    expect(await journal.read('order-1')).toMatchObject({ state: 'completed', reference, attempts: 1 });
  });

  test.each([
    ['a write', WRITE, 1],
    ['a read', READ, 4],
  ])('sends nothing if the connection is lost for %s', async (_, kind, times) => {
    const isKind = (statements: readonly string[]) => statements.some((sql) => kind.test(sql));
    const { binding, batches } = openD1((statements) => (isKind(statements) ? 'not run' : 'none'));
    const service = await startService((response) => sendJson(response, 500, {}));
    const payments = service.client({ journal: sqliteJournal(fromD1(binding)) });
    const error = await catchError(payments.chargeMobileMoney(charge, { idempotencyKey: 'order-1' }));
    expect(error).toMatchObject({ name: 'JournalError', outcome: 'not_sent', retryable: true });
    expect(service.requests).toEqual([]);
    expect(batches.filter(isKind)).toHaveLength(times);
  });

  test('repeats no read of a database that is overloaded', async () => {
    const { binding, batches } = openD1(() => 'not run', 'D1_ERROR: D1 DB is overloaded.');
    expect(await catchError(sqliteJournal(fromD1(binding)).read('order-1'))).toMatchObject({
      name: 'JournalError',
    });
    expect(batches).toHaveLength(1);
  });

  test('takes no batch for committed that D1 reports as failed', async () => {
    const { binding } = openD1(() => 'none');
    let batches = 0;
    const batch: D1Binding['batch'] = async (statements) => {
      // The first one reads the service of the journal.
      const isWrite = ++batches === 2;
      return isWrite
        ? statements.map(() => ({ success: false, results: [{ written: 1 }] }))
        : binding.batch(statements);
    };
    await claimKey(sqliteJournal(fromD1(binding)), 'order-0');
    const journal = sqliteJournal(fromD1({ ...binding, batch }));
    expect(await catchError(claimKey(journal, 'order-1'))).toMatchObject({ name: 'JournalError' });
  });

  test('takes no batch of another length for a key without a record', async () => {
    const { binding } = openD1(() => 'none');
    await claimKey(sqliteJournal(fromD1(binding)), 'order-1');
    const batch: D1Binding['batch'] = async (statements) => (await binding.batch(statements)).slice(1);
    const journal = sqliteJournal(fromD1({ ...binding, batch }));
    expect(await catchError(journal.read('order-1'))).toMatchObject({ name: 'JournalError' });
  });

  test('resolves a key once if the response of the write is lost', async () => {
    let isLost = false;
    const { binding } = openD1((statements) =>
      isLost && statements.some((sql) => WRITE.test(sql)) ? 'response lost' : 'none',
    );
    const journal = sqliteJournal(fromD1(binding), { lease: 100 });
    await claimKey(journal, 'order-1');
    await expect.poll(async () => (await journal.read('order-1'))?.state).toBe('unknown');
    isLost = true;
    const resolving = journal.resolve('order-1', 'not_charged', note);
    await resolving.finally(() => {
      isLost = false;
    });
    expect(await journal.read('order-1')).toMatchObject({ state: 'not_charged', resolutions: [note] });
  });
});
