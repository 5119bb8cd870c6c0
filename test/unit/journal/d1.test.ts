import { describe, expect, test } from 'vitest';
import { ConfigurationError } from '../../../src/index.ts';
import { type D1Binding, fromD1 } from '../../../src/journal/sqlite.ts';
import { openD1, READ, WRITE } from '../../helpers/faulty-d1.ts';
import { catchError } from '../../helpers/service.ts';
import { firstWrite, openHandleStore } from '../../helpers/sqlite-stores.ts';

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

  test.each([
    ['a write', 1],
    ['a read', 4],
  ])('repeats only reads if the connection is lost: %s', async (what, times) => {
    const kind = what === 'a read' ? READ : WRITE;
    const isKind = (statements: readonly string[]) => statements.some((sql) => kind.test(sql));
    const { binding, batches } = openD1((statements) => (isKind(statements) ? 'not run' : 'none'));
    const store = openHandleStore(fromD1(binding));
    const step = what === 'a read' ? store.read('order-1') : store.write('order-1', firstWrite());
    expect(String(await catchError(step))).toContain('Network connection lost');
    expect(batches.filter(isKind)).toHaveLength(times);
  });

  test.each([
    'D1_ERROR: Internal error while starting up D1 DB storage caused object to be reset.',
    'D1_ERROR: D1 DB reset because its code was updated.',
  ])('repeats a read after: %s', async (message) => {
    let lost = 2;
    const { binding } = openD1(() => (--lost >= 0 ? 'not run' : 'none'), message);
    expect(await openHandleStore(fromD1(binding)).read('order-1')).toMatchObject({ record: null });
  });

  test('runs the statements of a step as one batch', async () => {
    const { binding, batches } = openD1(() => 'none');
    const store = openHandleStore(fromD1(binding));
    await store.write('order-1', firstWrite({ dueAt: 1 }));
    batches.length = 0;
    expect(await store.claimDue({ kind: 'key', limit: 10, lease: 1_000 })).toMatchObject({
      records: [{ key: 'order-1', at: 1 }],
    });
    expect(batches.map((statements) => statements.length)).toEqual([3]);
  });

  test('makes a write once whose response is lost', async () => {
    let isLost = false;
    const { binding, batches } = openD1(() => (isLost ? 'response lost' : 'none'));
    const store = openHandleStore(fromD1(binding));
    await store.write('order-0', firstWrite());
    isLost = true;
    batches.length = 0;
    const failure = await catchError(store.write('order-1', firstWrite()));
    expect(String(failure)).toContain('Network connection lost');
    expect(batches).toHaveLength(1);
    isLost = false;
    expect(await store.read('order-1')).toMatchObject({ record: { version: 'v1' } });
  });

  test('repeats no read of a database that is overloaded', async () => {
    const { binding, batches } = openD1(() => 'not run', 'D1_ERROR: D1 DB is overloaded.');
    const failure = await catchError(openHandleStore(fromD1(binding)).read('order-1'));
    expect(String(failure)).toContain('overloaded');
    expect(batches).toHaveLength(1);
  });

  test('takes no batch for committed that D1 reports as failed', async () => {
    const { binding } = openD1(() => 'none');
    await openHandleStore(fromD1(binding)).write('order-0', firstWrite());
    const batch: D1Binding['batch'] = async (statements) =>
      statements.map(() => ({ success: false, results: [{ written: 1 }] }));
    const store = openHandleStore(fromD1({ ...binding, batch }));
    const failure = await catchError(store.write('order-1', firstWrite()));
    expect(String(failure)).toContain('did not confirm');
  });

  test('takes no batch of another length for a key without a record', async () => {
    const { binding } = openD1(() => 'none');
    await openHandleStore(fromD1(binding)).write('order-1', firstWrite());
    const batch: D1Binding['batch'] = async (statements) => (await binding.batch(statements)).slice(1);
    const failure = await catchError(openHandleStore(fromD1({ ...binding, batch })).read('order-1'));
    expect(String(failure)).toContain('did not confirm');
  });
});
