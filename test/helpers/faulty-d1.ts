import { DatabaseSync } from 'node:sqlite';
import { onTestFinished } from 'vitest';
import type { D1Binding, D1Statement } from '../../src/journal/sqlite.ts';
import { createSqliteHandle } from './sqlite-handle.ts';

/** What happens to a batch: it runs, it is not run, or it is run and its response is lost. */
type Fault = 'none' | 'not run' | 'response lost';

interface TestD1 {
  readonly binding: D1Binding;
  /** The statements of each batch that came in. */
  readonly batches: string[][];
}

/** A D1 database on `node:sqlite`. `decide` gives the fault of each batch. */
export function openD1(
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

export const WRITE = /^(?:INSERT INTO|UPDATE) "payments_journal"/;
export const READ = /^SELECT version/;
