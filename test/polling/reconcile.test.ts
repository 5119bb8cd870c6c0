import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import type { Reconciled } from '../../src/index.ts';
import { MINUTE, microtasks, SECOND, settled, useFakeClock } from '../support/fake-clock.ts';
import { brokenConnection, inTurn, scriptedService } from '../support/scripted-service.ts';

useFakeClock();

const references = (count: number) => Array.from({ length: count }, (_, index) => `TXN-${index}`);
const fast = { maxRequestsPerSecond: 100_000, maxConcurrency: 1_000 };

/** All that a reconciliation yields, and how it ends. */
async function all(results: AsyncIterable<Reconciled>) {
  const list: Reconciled[] = [];
  let error: unknown;
  try {
    for await (const result of results) list.push(result);
  } catch (thrown) {
    error = thrown;
  }
  return { list, error };
}

/** A source that says how far it was read, and whether it was closed. */
function watchedSource(count: number) {
  const state = { read: 0, closed: false };
  function* source() {
    try {
      for (; state.read < count; state.read++) yield `TXN-${state.read}`;
    } finally {
      state.closed = true;
    }
  }
  return { state, source: source() };
}

async function* slowly(list: string[]) {
  for (const item of list) {
    if (item.endsWith('0')) await new Promise((resolve) => setTimeout(resolve, 1));
    yield item;
  }
}

test.each([
  ['an array', (list: string[]) => list],
  ['a set', (list: string[]) => new Set(list)],
  ['a generator', (list: string[]) => list.values()],
  ['an async generator', slowly],
])('10,000 references from %s each yield once', async (_, sourceOf) => {
  const { client, seen } = scriptedService(inTurn('pending'), { polling: fast });
  const { list, error } = await settled(all(client.reconcile(sourceOf(references(10_000)))), 60 * SECOND);
  expect(error).toBeUndefined();
  expect(list.map(({ reference }) => reference).sort()).toEqual(references(10_000).sort());
  expect(list.every(({ transaction }) => transaction?.status === 'pending')).toBe(true);
  expect(seen).toHaveLength(10_000);
  expect(vi.getTimerCount()).toBe(0);
});

test('at the usual rate they come 50 a second, as they are answered', async () => {
  const { client } = scriptedService(inTurn('success'));
  const done = all(client.reconcile(references(1_000)));
  const began = performance.now();
  let at = 0;
  done.then(() => {
    at = performance.now() - began;
  });
  await settled(done, MINUTE);
  expect(at).toBeGreaterThan(19_000);
  expect(at).toBeLessThan(21_000);
});

test('one look is one request, whatever the status: nothing waits for a final one', async () => {
  const { client, seen } = scriptedService((reference) => (reference === 'TXN-0' ? 'processing' : 'on_hold'));
  const { list } = await settled(all(client.reconcile(references(2))));
  expect(list.map(({ transaction }) => transaction?.status)).toEqual(['processing', 'unrecognised']);
  expect(seen).toHaveLength(2);
});

test('a failure of one ends nothing: it is the error of its reference', async () => {
  const { client } = scriptedService((reference) => {
    if (reference === 'TXN-3') return new Response('', { status: 403 });
    if (reference === 'TXN-5') return new Response('', { status: 404 });
    return 'success';
  });
  const { list, error } = await settled(all(client.reconcile(references(10))));
  expect(error).toBeUndefined();
  const failed = list.filter((result) => result.error !== undefined);
  expect(failed).toEqual([
    { reference: 'TXN-3', error: expect.objectContaining({ code: 'permission_denied' }) },
    { reference: 'TXN-5', error: expect.objectContaining({ code: 'not_found' }) },
  ]);
  expect(list).toHaveLength(10);
});

test('passing faults are waited out', async () => {
  const { client } = scriptedService(
    inTurn(brokenConnection(), new Response('', { status: 503 }), 'success'),
  );
  const { list } = await settled(all(client.reconcile(references(3))));
  expect(list.map(({ transaction }) => transaction?.status)).toEqual(Array(3).fill('success'));
});

test('what cannot be learned within the timeout is an error, and the others come without it', async () => {
  const { client } = scriptedService((reference) => (reference === 'TXN-1' ? brokenConnection() : 'success'));
  const { list } = await settled(all(client.reconcile(references(3), { timeout: 20 * SECOND })));
  expect(list.map(({ reference }) => reference)).toEqual(['TXN-0', 'TXN-2', 'TXN-1']);
  expect(list[2]).toMatchObject({ error: { code: 'wait_timeout', lastError: { code: 'connection_error' } } });
});

test('an invalid reference is an error of its own, and nothing is sent for it', async () => {
  const { client, seen } = scriptedService(inTurn('success'));
  const given = ['TXN-0', 'TXN-../../admin', '', 'TXN-1'];
  const { list, error } = await settled(all(client.reconcile(given)));
  expect(error).toBeUndefined();
  expect(list.map(({ reference }) => reference).sort()).toEqual([...given].sort());
  for (const reference of ['TXN-../../admin', '']) {
    expect(list.find((result) => result.reference === reference)?.error).toMatchObject({
      code: 'invalid_input',
    });
  }
  expect(seen).toHaveLength(2);
});

test('a reference that comes twice yields twice', async () => {
  const { client } = scriptedService(inTurn('success'));
  const { list } = await settled(all(client.reconcile(['TXN-0', 'TXN-0', 'TXN-1'])));
  expect(list.map(({ reference }) => reference)).toEqual(['TXN-0', 'TXN-0', 'TXN-1']);
});

test('an empty source yields nothing and ends', async () => {
  const { client } = scriptedService(inTurn('success'));
  expect(await settled(all(client.reconcile([])))).toEqual({ list: [], error: undefined });
  expect(await settled(all(client.reconcile(slowly([]))))).toEqual({ list: [], error: undefined });
});

test('no more than 256 references are read ahead, however slow the service is', async () => {
  const { client } = scriptedService(() => new Promise(() => {}));
  const { state, source } = watchedSource(1_000_000);
  const abort = new AbortController();
  const done = all(client.reconcile(source, { signal: abort.signal }));
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(state.read).toBeLessThanOrEqual(256);
  abort.abort();
  await done;
});

test('a reader that takes its time is not overrun: what is read ahead stays bounded', async () => {
  const { client, seen } = scriptedService(inTurn('success'), { polling: fast });
  const { state, source } = watchedSource(2_000);
  let yielded = 0;
  let mostAhead = 0;
  const reading = (async () => {
    for await (const { reference } of client.reconcile(source)) {
      expect(reference).toMatch(/^TXN-/);
      mostAhead = Math.max(mostAhead, state.read - ++yielded);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  await settled(reading, MINUTE);
  expect(yielded).toBe(2_000);
  expect(mostAhead).toBeLessThanOrEqual(257);
  expect(seen).toHaveLength(2_000);
});

test('break closes the source, and no request, timer or listener is left', async () => {
  const { client, seen } = scriptedService(inTurn('success'));
  const { state, source } = watchedSource(1_000);
  const { signal } = new AbortController();
  const reading = (async () => {
    for await (const { reference } of client.reconcile(source, { signal })) if (reference === 'TXN-7') break;
  })();
  await settled(reading, SECOND);
  const asked = seen.length;
  expect(state.closed).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(seen).toHaveLength(asked);
});

test('an abort rejects with its reason, closes the source, and leaves nothing', async () => {
  const { client, seen } = scriptedService(inTurn('success'));
  const { state, source } = watchedSource(1_000);
  const abort = new AbortController();
  const done = all(client.reconcile(source, { signal: abort.signal }));
  await vi.advanceTimersByTimeAsync(2_010);
  const reason = new Error('the night is over');
  abort.abort(reason);
  const asked = seen.length;
  const { list, error } = await done;
  expect(error).toBe(reason);
  expect(list.length).toBeGreaterThan(90);
  expect(state.closed).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
  expect(getEventListeners(abort.signal, 'abort')).toEqual([]);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(seen).toHaveLength(asked);
});

test('an abort keeps requests from leaving also while the reader is busy with a result', async () => {
  const { client, seen } = scriptedService(inTurn('success'));
  const abort = new AbortController();
  const reading = (async () => {
    for await (const { reference } of client.reconcile(references(1_000), { signal: abort.signal })) {
      if (reference === 'TXN-9') await new Promise((resolve) => setTimeout(resolve, 10 * SECOND));
    }
  })();
  reading.catch(() => {});
  await vi.advanceTimersByTimeAsync(SECOND);
  abort.abort();
  await microtasks();
  const asked = seen.length;
  expect(asked).toBeGreaterThan(10);
  await vi.advanceTimersByTimeAsync(9 * SECOND);
  expect(seen).toHaveLength(asked);
  await expect(settled(reading)).rejects.toThrow('aborted');
});

test('an abort ends it also while the source gives nothing', async () => {
  const { client } = scriptedService(inTurn('success'));
  const abort = new AbortController();
  const stuck = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) };
  const done = all(client.reconcile(stuck, { signal: abort.signal }));
  await vi.advanceTimersByTimeAsync(SECOND);
  abort.abort();
  expect((await done).error).toBe(abort.signal.reason);
});

test('close ends it with ClosedError, and not with an error for each reference', async () => {
  const { client, seen } = scriptedService(inTurn('success'));
  const { state, source } = watchedSource(1_000);
  const done = all(client.reconcile(source));
  await vi.advanceTimersByTimeAsync(2_010);
  client.close();
  const asked = seen.length;
  const { list, error } = await done;
  expect(error).toMatchObject({ code: 'closed' });
  expect(list.every((result) => result.error === undefined)).toBe(true);
  expect(state.closed).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
  expect(seen).toHaveLength(asked);
});

const broken = new Error('the database is gone');

function* breaksAfter(count: number) {
  yield* references(count);
  throw broken;
}

async function* breaksLater(count: number) {
  yield* breaksAfter(count);
}

test.each([
  ['a generator at once', () => breaksAfter(0)],
  ['a generator later', () => breaksAfter(20)],
  ['an async generator at once', () => breaksLater(0)],
  ['an async generator later', () => breaksLater(20)],
])('a source that throws, %s, ends it with that error, and nothing is left', async (_, source) => {
  const { client, seen } = scriptedService(inTurn('success'), { latency: 100 });
  const { error } = await settled(all(client.reconcile(source())), SECOND);
  expect(error).toBe(broken);
  expect(vi.getTimerCount()).toBe(seen.length);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(vi.getTimerCount()).toBe(0);
});

test('a reconciliation that nobody reads reads nothing and asks nothing', async () => {
  const { client, seen } = scriptedService(inTurn('success'));
  const { state, source } = watchedSource(10);
  client.reconcile(source);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(state.read).toBe(0);
  expect(seen).toEqual([]);
});

test('it shares the polls of a wait that is under way', async () => {
  const { client, seen } = scriptedService(inTurn('success'), { latency: SECOND });
  const wait = client.waitForFinalStatus('TXN-0');
  await vi.advanceTimersByTimeAsync(500);
  const { list } = await settled(all(client.reconcile(['TXN-0'])));
  expect(list).toHaveLength(1);
  await wait;
  expect(seen).toHaveLength(1);
});

test('a text in place of a list is refused', () => {
  const { client } = scriptedService(inTurn('success'));
  expect(() => client.reconcile('TXN-0')).toThrow(expect.objectContaining({ code: 'configuration_error' }));
});

test.each([{ timeout: -1 }, { minDelay: 0 }, { signal: 'no signal' }, { minDealy: 5_000 }])(
  'a wrong option, %j, ends it at once, and is not the error of every reference',
  async (options) => {
    const { client, seen } = scriptedService(inTurn('success'));
    const results: AsyncGenerator<Reconciled> = Reflect.apply(client.reconcile, client, [
      references(3),
      options,
    ]);
    const { list, error } = await settled(all(results));
    expect(error).toMatchObject({ code: 'configuration_error' });
    expect(list).toEqual([]);
    expect(seen).toEqual([]);
  },
);
