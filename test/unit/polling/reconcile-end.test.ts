import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import type { ReconcileResult } from '../../../src/index.ts';
import { flushMicrotasks, MINUTE, runToEnd, SECOND, useFakeClock } from '../../helpers/fake-clock.ts';
import { collectResults, createReferences, createTrackedSource } from '../../helpers/reconciliation.ts';
import { createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';

useFakeClock();

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

test('rejects with the reason of an abort, closes the source, leaves nothing', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'));
  const { state, source } = createTrackedSource(1_000);
  const abort = new AbortController();
  const done = collectResults(client.reconcile(source, { signal: abort.signal }));
  await vi.advanceTimersByTimeAsync(2_010);
  const reason = new Error('the night is over');
  abort.abort(reason);
  const sent = seen.length;
  const { list, error } = await done;
  expect(error).toBe(reason);
  expect(list.length).toBeGreaterThan(90);
  expect(state.closed).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
  expect(getEventListeners(abort.signal, 'abort')).toEqual([]);
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

test('ends on an abort while the source yields nothing', async () => {
  const { client } = createScriptedService(respondInTurn('success'));
  const abort = new AbortController();
  const stuck = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) };
  const done = collectResults(client.reconcile(stuck, { signal: abort.signal }));
  await vi.advanceTimersByTimeAsync(SECOND);
  abort.abort();
  expect((await done).error).toBe(abort.signal.reason);
});

test('sends nothing for a reference that the source yields after an abort', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'));
  const abort = new AbortController();
  const late = Promise.withResolvers<IteratorResult<string>>();
  const values = [Promise.resolve<IteratorResult<string>>({ done: false, value: 'TXN-0' }), late.promise];
  const next = () => values.shift() ?? new Promise<never>(() => {});
  const source = { [Symbol.asyncIterator]: () => ({ next }) };
  const done = collectResults(client.reconcile(source, { signal: abort.signal }));
  await vi.advanceTimersByTimeAsync(SECOND);
  abort.abort();
  late.resolve({ done: false, value: 'TXN-1' });
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect((await done).error).toBe(abort.signal.reason);
  expect(seen.map(({ reference }) => reference)).toEqual(['TXN-0']);
});

test('ends on close while the source yields nothing', async () => {
  const { client } = createScriptedService(respondInTurn('success'));
  const done = collectResults(client.reconcile(idleAfter(3)));
  await vi.advanceTimersByTimeAsync(SECOND);
  client.close();
  const { list, error } = await done;
  expect(list).toHaveLength(3);
  expect(error).toMatchObject({ code: 'closed' });
});

const thrown = new Error('thrown by the reader');

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
  ['a generator at once', () => breaksAfter(0)],
  ['a generator later', () => breaksAfter(20)],
  ['an async generator at once', () => breaksLater(0)],
  ['an async generator later', () => breaksLater(20)],
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

test('reads nothing and sends nothing if no reader reads it', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'));
  const { state, source } = createTrackedSource(10);
  client.reconcile(source);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(state.read).toBe(0);
  expect(seen).toEqual([]);
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
