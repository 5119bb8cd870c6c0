import { expect, test } from 'vitest';
import { ConfigurationError } from '../../../src/index.ts';
import { type D1Binding, type D1Statement, fromD1 } from '../../../src/stores/sqlite/index.ts';
import { catchError } from '../../helpers/service.ts';
import { createSqliteHandle, openHandleStore, openMemory } from '../../helpers/sqlite-stores.ts';
import { claimKeys, firstWrite } from '../../helpers/store-writes.ts';

type Batch = D1Binding['batch'];

/** A store on a D1 database of `node:sqlite` that has one record, `order-1`, and the statements of each batch from then on. */
async function openD1() {
  const handle = createSqliteHandle(openMemory());
  const values = new WeakMap<D1Statement, { sql: string; values: (string | number | null)[] }>();
  const prepare = (sql: string): D1Statement => ({
    bind(...bound) {
      const copy = prepare(sql);
      values.set(copy, { sql, values: bound });
      return copy;
    },
  });
  const run: Batch = async (statements) => {
    const read = statements.map((statement) => values.get(statement) ?? { sql: '', values: [] });
    return (await handle.batch(read)).map((results) => ({ success: true, results }));
  };
  const batches: number[] = [];
  let intercept = run;
  const batch: Batch = (statements) => {
    batches.push(statements.length);
    return intercept(statements);
  };
  const binding = { prepare, batch, withSession: () => ({}) };
  const store = openHandleStore(fromD1(binding));
  await store.write('order-1', firstWrite({ dueAt: 1 }));
  batches.length = 0;
  return {
    binding,
    store,
    batches,
    run,
    /** Runs batches in another way. */
    replace(other: Batch) {
      intercept = other;
    },
  };
}

test.each([undefined, null, {}, { prepare: () => {} }, 'env.DB'])('refuses %o', (database) => {
  // @ts-expect-error It is not a database.
  expect(() => fromD1(database)).toThrow(ConfigurationError);
});

test('refuses a session, which can read from a replica', async () => {
  const { binding } = await openD1();
  expect(() => fromD1(Object.assign(binding, { getBookmark: () => null }))).toThrow(
    'fromD1 takes the D1 database itself',
  );
});

const lost = 'D1_ERROR: Network connection lost.';
const reset = 'D1_ERROR: Internal error while starting up D1 DB storage caused object to be reset.';
const updated = 'D1_ERROR: D1 DB reset because its code was updated.';
const overloaded = 'D1_ERROR: D1 DB is overloaded.';

test.each([
  ['read', lost, 4],
  ['read', reset, 4],
  ['read', updated, 4],
  // Reads that are repeated would keep it so.
  ['read', overloaded, 1],
  ['write', lost, 1],
  // Its first statements only read.
  ['claim', lost, 1],
] as const)('runs a %s that fails with "%s" %i times', async (step, message, times) => {
  const { store, batches, replace } = await openD1();
  replace(() => Promise.reject(new Error(message)));
  const run = {
    read: () => store.read('order-1'),
    write: () => store.write('order-2', firstWrite()),
    claim: () => store.claimDue(claimKeys),
  };
  expect(await catchError(run[step]())).toMatchObject({ message });
  expect(batches).toHaveLength(times);
});

test('reads again after the connection was lost', async () => {
  const { store, batches, run, replace } = await openD1();
  replace((statements) => (batches.length < 3 ? Promise.reject(new Error(lost)) : run(statements)));
  expect(await store.read('order-1')).toMatchObject({ record: { version: 'v1' } });
});

test('runs the statements of a step as one batch', async () => {
  const { store, batches } = await openD1();
  expect(await store.claimDue(claimKeys)).toMatchObject({ records: [{ key: 'order-1', at: 1 }] });
  expect(batches).toEqual([3]);
});

test('makes a write once whose response is lost', async () => {
  const { store, batches, run, replace } = await openD1();
  replace((statements) => run(statements).then(() => Promise.reject(new Error(lost))));
  expect(await catchError(store.write('order-2', firstWrite()))).toMatchObject({ message: lost });
  expect(batches).toHaveLength(1);
  replace(run);
  expect(await store.read('order-2')).toMatchObject({ record: { version: 'v1' } });
});

test.each<[string, (results: Awaited<ReturnType<Batch>>) => Awaited<ReturnType<Batch>>]>([
  ['that D1 reports as failed', (results) => results.map((result) => ({ ...result, success: false }))],
  [
    'whose first statement failed',
    (results) => results.map((result, at) => ({ ...result, success: at > 0 })),
  ],
  ['of another length', (results) => results.slice(1)],
])('takes no batch for committed %s', async (_what, change) => {
  const { store, run, replace } = await openD1();
  replace(async (statements) => change(await run(statements)));
  for (const failure of [
    store.write('order-2', firstWrite()),
    store.read('order-1'),
    store.claimDue(claimKeys),
  ])
    expect(String(await catchError(failure))).toContain('did not confirm');
});
