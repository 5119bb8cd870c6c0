import { expect, test, vi } from 'vitest';
import { MINUTE, runToEnd, SECOND, useFakeClock } from '../../helpers/fake-clock.ts';
import { collectResults, createReferences, createTrackedSource } from '../../helpers/reconciliation.ts';
import { createResetError, createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';
import { chooseSize } from '../../helpers/sized.ts';

useFakeClock();

const COUNT = chooseSize(1_000, 10_000);

const fast = { maxRequestsPerSecond: 100_000, maxConcurrency: 1_000 };

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

test('yields 50 results a second at the default rate, as they arrive', async () => {
  const { client } = createScriptedService(respondInTurn('success'));
  const done = collectResults(client.reconcile(createReferences(1_000)));
  const start = performance.now();
  let at = 0;
  done.then(() => {
    at = performance.now() - start;
  });
  await runToEnd(done, MINUTE);
  expect(at).toBeGreaterThan(19_000);
  expect(at).toBeLessThan(21_000);
});

test('sends one request for each reference, whatever its status', async () => {
  const { client, seen } = createScriptedService((reference) =>
    reference === 'TXN-0' ? 'processing' : 'on_hold',
  );
  const { list } = await runToEnd(collectResults(client.reconcile(createReferences(2))));
  expect(list.map(({ transaction }) => transaction?.status)).toEqual(['processing', 'unrecognised']);
  expect(seen).toHaveLength(2);
});

test('yields an error for one reference and continues with the others', async () => {
  const { client } = createScriptedService((reference) => {
    if (reference === 'TXN-3') return new Response('', { status: 403 });
    if (reference === 'TXN-5') return new Response('', { status: 404 });
    return 'success';
  });
  const { list, error } = await runToEnd(collectResults(client.reconcile(createReferences(10))));
  expect(error).toBeUndefined();
  const failed = list.filter((result) => result.error !== undefined);
  expect(failed).toEqual([
    { reference: 'TXN-3', error: expect.objectContaining({ code: 'permission_denied' }) },
    { reference: 'TXN-5', error: expect.objectContaining({ code: 'not_found' }) },
  ]);
  expect(list).toHaveLength(10);
});

test('retries temporary errors', async () => {
  const { client } = createScriptedService(
    respondInTurn(createResetError(), new Response('', { status: 503 }), 'success'),
  );
  const { list } = await runToEnd(collectResults(client.reconcile(createReferences(3))));
  expect(list.map(({ transaction }) => transaction?.status)).toEqual(Array(3).fill('success'));
});

test('yields an error for a reference without a result at the timeout', async () => {
  const { client } = createScriptedService((reference) =>
    reference === 'TXN-1' ? createResetError() : 'success',
  );
  const { list } = await runToEnd(
    collectResults(client.reconcile(createReferences(3), { timeout: 20 * SECOND })),
  );
  expect(list.map(({ reference }) => reference)).toEqual(['TXN-0', 'TXN-2', 'TXN-1']);
  expect(list[2]).toMatchObject({ error: { code: 'wait_timeout', lastError: { code: 'connection_error' } } });
});

test('yields an error for an invalid reference and sends nothing for it', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'));
  const given = ['TXN-0', 'TXN-../../admin', '', 'TXN-1'];
  const { list, error } = await runToEnd(collectResults(client.reconcile(given)));
  expect(error).toBeUndefined();
  expect(list.map(({ reference }) => reference).sort()).toEqual([...given].sort());
  for (const reference of ['TXN-../../admin', '']) {
    expect(list.find((result) => result.reference === reference)?.error).toMatchObject({
      code: 'invalid_input',
    });
  }
  expect(seen).toHaveLength(2);
});

test('yields twice for a reference given twice', async () => {
  const { client } = createScriptedService(respondInTurn('success'));
  const { list } = await runToEnd(collectResults(client.reconcile(['TXN-0', 'TXN-0', 'TXN-1'])));
  expect(list.map(({ reference }) => reference)).toEqual(['TXN-0', 'TXN-0', 'TXN-1']);
});

test('yields nothing for an empty source', async () => {
  const { client } = createScriptedService(respondInTurn('success'));
  expect(await runToEnd(collectResults(client.reconcile([])))).toEqual({ list: [], error: undefined });
  expect(await runToEnd(collectResults(client.reconcile(slowly([]))))).toEqual({
    list: [],
    error: undefined,
  });
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

test('shares the polls of a wait on the same reference', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'), { latency: SECOND });
  const wait = client.waitForFinalStatus('TXN-0');
  await vi.advanceTimersByTimeAsync(500);
  const { list } = await runToEnd(collectResults(client.reconcile(['TXN-0'])));
  expect(list).toHaveLength(1);
  await wait;
  expect(seen).toHaveLength(1);
});
