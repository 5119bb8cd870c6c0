import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import { type ReconcileResult, TransactionMismatchError } from '../../../src/index.ts';
import { flushMicrotasks, MINUTE, runToEnd, SECOND, useFakeClock } from '../../helpers/fake-clock.ts';
import { collectResults, createReferences, createTrackedSource } from '../../helpers/reconciliation.ts';
import { createResetError, createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';
import { chooseSize } from '../../helpers/sized.ts';

useFakeClock();

const COUNT = chooseSize(1_000, 10_000);

const fast = { maxRequestsPerSecond: 100_000, maxConcurrency: 1_000 };

const DAY = 24 * 60 * MINUTE;

const price = { amount: '25.50', currency: 'GHS' };

const other = { amount: '2.55', currency: 'GHS' };

async function* later<Item>(list: Item[]) {
  for (const item of list) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    yield item;
  }
}

const broken = new Error('the database is gone');

function* breaksAfter(count: number) {
  yield* createReferences(count);
  throw broken;
}

async function* breaksLater(count: number) {
  yield* breaksAfter(count);
}

/** A queue that yields a few references and never ends. */
async function* idleAfter(count: number) {
  yield* createReferences(count);
  await new Promise(() => {});
}

const thrown = new Error('thrown by the reader');

test.each([
  ['an array', (list: string[]) => list],
  ['a set', (list: string[]) => new Set(list)],
  ['a generator', (list: string[]) => list.values()],
  ['an async generator', later],
])(`${COUNT.toLocaleString('en')} references from %s each yield once`, async (_, sourceOf) => {
  const { client, seen } = createScriptedService(respondInTurn('pending'), { polling: fast });
  const { list, error } = await runToEnd(
    collectResults(client.reconcile(sourceOf(createReferences(COUNT)))),
    60 * SECOND,
  );
  expect(error).toBeUndefined();
  expect(list.map(({ reference }) => reference).sort()).toEqual(createReferences(COUNT).sort());
  expect(list.every(({ transaction }) => transaction?.status === 'pending')).toBe(true);
  expect(seen).toHaveLength(COUNT);
  expect(vi.getTimerCount()).toBe(0);
});

test('yields an error for a reference without a result, and goes on', async () => {
  const { client, seen } = createScriptedService((reference) => {
    if (reference === 'TXN-3') return new Response('', { status: 403 });
    if (reference === 'TXN-5') return new Response('', { status: 404 });
    return reference === 'TXN-7' ? createResetError() : 'on_hold';
  });
  const references = [...createReferences(10), 'TXN-../../admin', ''];
  const { list, error } = await runToEnd(
    collectResults(client.reconcile(references, { timeout: 20 * SECOND })),
  );
  expect(error).toBeUndefined();
  expect(list).toHaveLength(12);
  const failed = list.flatMap((result) => (result.error ? [[result.reference, result.error]] : []));
  expect(Object.fromEntries(failed)).toMatchObject({
    'TXN-3': { code: 'permission_denied' },
    'TXN-5': { code: 'not_found' },
    'TXN-7': { code: 'wait_timeout', lastError: { code: 'connection_error' } },
    'TXN-../../admin': { code: 'invalid_input' },
    '': { code: 'invalid_input' },
  });
  expect(failed).toHaveLength(5);
  // Those two are polled on: a 404 for ten seconds.
  const isOnce = (reference: string) => !['TXN-5', 'TXN-7'].includes(reference);
  const sent = seen.map(({ reference }) => reference).filter(isOnce);
  expect(sent.sort()).toEqual(createReferences(10).filter(isOnce));
});

test('reads at most 256 references ahead of a slow service', async () => {
  const { client } = createScriptedService(() => new Promise(() => {}));
  const { state, source } = createTrackedSource(1_000_000);
  const abort = new AbortController();
  const done = collectResults(client.reconcile(source, { signal: abort.signal }));
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(state.read).toBeLessThanOrEqual(256);
  abort.abort();
  await done;
});

test('reads a bounded number of references ahead of a slow reader', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'), { polling: fast });
  const { state, source } = createTrackedSource(2_000);
  let yielded = 0;
  let mostAhead = 0;
  const reading = (async () => {
    for await (const { reference } of client.reconcile(source)) {
      expect(reference).toMatch(/^TXN-/);
      mostAhead = Math.max(mostAhead, state.read - ++yielded);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  await runToEnd(reading, MINUTE);
  expect(yielded).toBe(2_000);
  expect(mostAhead).toBeLessThanOrEqual(257);
  expect(seen).toHaveLength(2_000);
});

test('compares each expect with its own reference', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'));
  const items = [
    'TXN-0',
    { reference: 'TXN-1' },
    { reference: 'TXN-2', expect: price },
    { reference: 'TXN-3', expect: other },
    { reference: 'TXN-4', expect: undefined, startedAt: undefined },
  ];
  const { list, error } = await runToEnd(collectResults(client.reconcile(items)));
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

test('closes the source and leaves nothing after break', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'));
  const { state, source } = createTrackedSource(1_000);
  const { signal } = new AbortController();
  const reading = (async () => {
    for await (const { reference } of client.reconcile(source, { signal })) if (reference === 'TXN-7') break;
  })();
  await runToEnd(reading, SECOND);
  const sent = seen.length;
  expect(state.closed).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(seen).toHaveLength(sent);
});

test('sends and yields nothing after an abort while the reader is busy', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'));
  const abort = new AbortController();
  const read: string[] = [];
  const reading = (async () => {
    for await (const { reference } of client.reconcile(createReferences(1_000), { signal: abort.signal })) {
      if (read.push(reference) === 10) await new Promise((resolve) => setTimeout(resolve, 10 * SECOND));
    }
  })();
  reading.catch(() => {});
  await vi.advanceTimersByTimeAsync(SECOND);
  abort.abort();
  await flushMicrotasks();
  const sent = seen.length;
  expect(read).toHaveLength(10);
  expect(sent).toBeGreaterThan(10);
  await vi.advanceTimersByTimeAsync(9 * SECOND);
  expect(seen).toHaveLength(sent);
  await expect(runToEnd(reading)).rejects.toThrow('aborted');
  expect(read).toHaveLength(10);
});

test.each([
  ['return', (results: AsyncGenerator<ReconcileResult, void>) => results.return()],
  ['throw', (results: AsyncGenerator<ReconcileResult, void>) => results.throw(thrown)],
])('ends at once on %s while it waits for a result and for the source', async (_, leave) => {
  const { client, seen } = createScriptedService(() => new Promise(() => {}));
  const { signal } = new AbortController();
  const results = client.reconcile(idleAfter(3), { signal });
  const pending = results.next();
  await vi.advanceTimersByTimeAsync(SECOND);
  const left = leave(results).catch((error: unknown) => error);
  await flushMicrotasks();
  expect(vi.getTimerCount()).toBe(0);
  expect(seen.every((request) => request.signal.aborted)).toBe(true);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  expect(await pending).toEqual({ done: true, value: undefined });
  expect([thrown, { done: true, value: undefined }]).toContainEqual(await left);
  expect(seen).toHaveLength(3);
});

test('ends on close with ClosedError, not with an error for each reference', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'));
  const { state, source } = createTrackedSource(1_000);
  const done = collectResults(client.reconcile(source));
  await vi.advanceTimersByTimeAsync(2_010);
  client.close();
  const sent = seen.length;
  const { list, error } = await done;
  expect(error).toMatchObject({ code: 'closed' });
  expect(list.every((result) => result.error === undefined)).toBe(true);
  expect(state.closed).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
  expect(seen).toHaveLength(sent);
});

test.each([
  ['a generator later', () => breaksAfter(20)],
  ['an async generator at once', () => breaksLater(0)],
])('rejects with the error of a source that throws, %s, and leaves nothing', async (_, source) => {
  const { client, seen } = createScriptedService(respondInTurn('success'), { latency: 100 });
  const { error } = await runToEnd(collectResults(client.reconcile(source())), SECOND);
  expect(error).toBe(broken);
  expect(vi.getTimerCount()).toBe(seen.length);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(vi.getTimerCount()).toBe(0);
});

test('rejects after close without reading the source, even an empty one', async () => {
  const { client } = createScriptedService(respondInTurn('success'));
  const { state, source } = createTrackedSource(10);
  client.close();
  expect((await collectResults(client.reconcile(source))).error).toMatchObject({ code: 'closed' });
  expect((await collectResults(client.reconcile([]))).error).toMatchObject({ code: 'closed' });
  expect(state.read).toBe(0);
});

test.each([
  ['a string', 'TXN-0'],
  ['a promise of a list', Promise.resolve(['TXN-0'])],
  ['an object', { reference: 'TXN-0' }],
  ['a date', new Date()],
  ['an array-like object', { 0: 'TXN-0', length: 1 }],
  ['a function', () => ['TXN-0']],
  ['null', null],
  ['undefined', undefined],
])('throws at the call if the list is %s', (_, list) => {
  const { client } = createScriptedService(respondInTurn('success'));
  const reconcile = () => Reflect.apply(client.reconcile, client, [list]);
  expect(reconcile).toThrow(expect.objectContaining({ code: 'configuration_error' }));
});

test.each([{ timeout: -1 }, { minDelay: 0 }, { signal: 'no signal' }, { minDealy: 5_000 }])(
  'rejects at once for the wrong option %j, not for each reference',
  async (options) => {
    const { client, seen } = createScriptedService(respondInTurn('success'));
    const results: AsyncGenerator<ReconcileResult> = Reflect.apply(client.reconcile, client, [
      createReferences(3),
      options,
    ]);
    const { list, error } = await runToEnd(collectResults(results));
    expect(error).toMatchObject({ code: 'configuration_error', outcome: null });
    expect(list).toEqual([]);
    expect(seen).toEqual([]);
  },
);
