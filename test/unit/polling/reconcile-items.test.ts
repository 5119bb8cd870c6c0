import { expect, test, vi } from 'vitest';
import { TransactionMismatchError } from '../../../src/index.ts';
import { MINUTE, runToEnd, SECOND, useFakeClock } from '../../helpers/fake-clock.ts';
import { collectResults } from '../../helpers/reconciliation.ts';
import { createResetError, createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';

useFakeClock();

const DAY = 24 * 60 * MINUTE;
const price = { amount: '25.50', currency: 'GHS' };
const other = { amount: '2.55', currency: 'GHS' };

async function* later<Item>(list: Item[]) {
  for (const item of list) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    yield item;
  }
}

const mixed = [
  'TXN-0',
  { reference: 'TXN-1' },
  { reference: 'TXN-2', expect: price },
  { reference: 'TXN-3', expect: other },
  { reference: 'TXN-4', expect: undefined, startedAt: undefined },
];

test.each([
  ['an array', () => mixed],
  ['a set', () => new Set(mixed)],
  ['an async generator', () => later(mixed)],
])('compares each expect with its own reference from %s', async (_, source) => {
  const { client, seen } = createScriptedService(respondInTurn('success'));
  const { list, error } = await runToEnd(collectResults(client.reconcile(source())));
  expect(error).toBeUndefined();
  const results = Object.fromEntries(list.map((result) => [result.reference, result]));
  for (const reference of ['TXN-0', 'TXN-1', 'TXN-2', 'TXN-4'])
    expect(results[reference], reference).toMatchObject({ transaction: { status: 'success' } });
  expect(results['TXN-3']?.transaction).toBeUndefined();
  expect(results['TXN-3']?.error).toBeInstanceOf(TransactionMismatchError);
  expect(results['TXN-3']?.error).toMatchObject({
    outcome: null,
    mismatches: [{ field: 'amount', expected: '2.55', actual: '25.50' }],
    transaction: { reference: 'TXN-3', status: 'success' },
  });
  expect(list).toHaveLength(5);
  expect(seen).toHaveLength(5);
});

test('compares expect with a transaction that is not final', async () => {
  const { client } = createScriptedService(respondInTurn('pending'));
  const { list } = await runToEnd(collectResults(client.reconcile([{ reference: 'TXN-0', expect: other }])));
  expect(list[0]?.error).toBeInstanceOf(TransactionMismatchError);
});

test('compares twice if a reference comes with two amounts', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'), { latency: 100 });
  const items = [
    { reference: 'TXN-0', expect: price },
    { reference: 'TXN-0', expect: other },
  ];
  const { list } = await runToEnd(collectResults(client.reconcile(items)));
  expect(list.map(({ transaction }) => transaction?.status)).toEqual(['success', undefined]);
  expect(list[1]?.error).toBeInstanceOf(TransactionMismatchError);
  expect(seen).toHaveLength(1);
});

test.each<[what: string, item: unknown, path: string]>([
  ['has an expect without an amount', { reference: 'TXN-0', expect: {} }, 'expect.amount'],
  ['has a misspelt expect', { reference: 'TXN-0', expects: price }, 'expects'],
  ['has no reference', { ref: 'TXN-0' }, 'reference'],
  ['has an invalid reference', { reference: 'TXN-../admin' }, 'reference'],
  ['has a startedAt in seconds', { reference: 'TXN-0', startedAt: 1_700_000_000 }, 'startedAt'],
  ['has a Date for startedAt', { reference: 'TXN-0', startedAt: new Date() }, 'startedAt'],
  ['is an array', ['TXN-0'], ''],
  ['is a number', 17, 'reference'],
  ['is null', null, 'reference'],
])('yields an error for an item that %s, and goes on', async (_, item, path) => {
  const { client, seen } = createScriptedService(respondInTurn('success'));
  const { list, error } = await runToEnd(
    collectResults(Reflect.apply(client.reconcile, client, [[item, 'TXN-1']])),
  );
  expect(error).toBeUndefined();
  expect(list).toHaveLength(2);
  const failed = list.find((result) => result.error !== undefined);
  expect(failed?.error).toMatchObject({
    code: 'invalid_input',
    issues: expect.arrayContaining([expect.objectContaining({ path })]),
  });
  expect(seen.map(({ reference }) => reference)).toEqual(['TXN-1']);
});

test.each(['expect', 'startedAt'])('rejects %s for all references together', async (name) => {
  const { client, seen } = createScriptedService(respondInTurn('success'));
  const options = { [name]: name === 'expect' ? price : Date.now() };
  const reconcile = () => Reflect.apply(client.reconcile, client, [['TXN-0'], options]);
  expect(reconcile).toThrow(expect.objectContaining({ code: 'configuration_error' }));
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(seen).toEqual([]);
});

test('checks 8 s after startedAt, and at once when that has passed', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'));
  const ago = (milliseconds: number) => Date.now() - milliseconds;
  const items = [
    { reference: 'TXN-new', startedAt: ago(2 * SECOND) },
    { reference: 'TXN-old', startedAt: ago(DAY) },
    { reference: 'TXN-unknown' },
  ];
  const { list } = await runToEnd(collectResults(client.reconcile(items)));
  expect(list.map(({ transaction }) => transaction?.status)).toEqual(Array(3).fill('success'));
  const times = Object.fromEntries(seen.map(({ reference, at }) => [reference, at]));
  expect(times).toMatchObject({ 'TXN-old': 0, 'TXN-unknown': 0, 'TXN-new': 6 * SECOND });
});

test('retries a temporary error for a payment that started long ago', async () => {
  const { client, seen } = createScriptedService(
    respondInTurn(createResetError(), createResetError(), 'success'),
  );
  const items = [{ reference: 'TXN-0', startedAt: Date.now() - DAY }];
  const { list } = await runToEnd(collectResults(client.reconcile(items, { timeout: MINUTE })));
  expect(list).toMatchObject([{ transaction: { status: 'success' } }]);
  expect(seen).toHaveLength(3);
});

test('ends the check of an old payment at its timeout', async () => {
  const { client } = createScriptedService(() => createResetError());
  const items = [{ reference: 'TXN-0', startedAt: Date.now() - DAY }];
  const start = performance.now();
  let endedAt = 0;
  const results = collectResults(client.reconcile(items, { timeout: MINUTE })).finally(() => {
    endedAt = performance.now() - start;
  });
  expect((await runToEnd(results)).list).toMatchObject([{ error: { code: 'wait_timeout' } }]);
  expect(endedAt).toBe(MINUTE);
});
