import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import { type Poll, WaitTimeoutError } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { MINUTE, runToEnd, SECOND, timeSettlement, useFakeClock } from '../../helpers/fake-clock.ts';
import { createResetError, createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';

useFakeClock();

// Bugs of other polling helpers, each measured or reported there. Ours must not have them.

test('polls just before the deadline; @smithy/util-waiter gives up early', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const delays = { initialDelay: 0, minDelay: 500, maxDelay: 2_000 };
  const end = await runToEnd(
    timeSettlement(client.waitForFinalStatus(REFERENCE, { ...delays, timeout: 5_000 })),
  );
  expect(end).toMatchObject({ at: 5_000, error: { code: 'wait_timeout' } });
  expect(seen.at(-1)?.at).toBe(4_500);
});

test('stops requests and timer on abort; @smithy/util-waiter sends one more', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const abort = new AbortController();
  const wait = timeSettlement(client.waitForFinalStatus(REFERENCE, { signal: abort.signal }));
  await vi.advanceTimersByTimeAsync(200);
  abort.abort();
  expect(await wait).toMatchObject({ at: 200 });
  expect(vi.getTimerCount()).toBe(0);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(seen).toHaveLength(1);
});

test('leaves no listener; @smithy/util-waiter leaks them (#1331)', async () => {
  const { client } = createScriptedService(respondInTurn('pending', 'pending', 'success'));
  const { signal } = new AbortController();
  await runToEnd(client.waitForFinalStatus(REFERENCE, { signal }));
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('rejects a 403 at once; AWS waiters hang until timeout (v3#2091)', async () => {
  const { client, seen } = createScriptedService(respondInTurn(new Response('', { status: 403 })));
  const end = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE)));
  expect(end).toMatchObject({ at: 0, error: { code: 'permission_denied' } });
  expect(seen).toHaveLength(1);
});

test('polls at once; AWS waiters sleep before the first poll (v3#1909)', async () => {
  const { client } = createScriptedService(respondInTurn('success'));
  expect(await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE)))).toMatchObject({ at: 0 });
});

test('reports the last transaction at timeout; AWS waiters lose it', async () => {
  const { client } = createScriptedService(respondInTurn('processing'));
  const { error } = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE)));
  expect(error).toMatchObject({ lastTransaction: { reference: REFERENCE, status: 'processing' } });
});

test('waits after a 429; @azure/core-lro fails for ever', async () => {
  const refusal = new Response('', { status: 429, headers: { 'retry-after': '2' } });
  const { client, seen } = createScriptedService(respondInTurn('pending', refusal, refusal, 'success'));
  expect((await runToEnd(client.waitForFinalStatus(REFERENCE))).status).toBe('success');
  expect(seen).toHaveLength(4);
});

test('honours Retry-After of a 503; @azure/core-lro only of a 2xx', async () => {
  const busy = new Response('', { status: 503, headers: { 'retry-after': '12' } });
  const { client, seen } = createScriptedService(respondInTurn(busy, 'success'));
  await runToEnd(client.waitForFinalStatus(REFERENCE));
  expect(seen.map(({ at }) => at)).toEqual([0, 12_000]);
});

test("keeps each caller's signal apart; @azure/core-lro ignores the second", async () => {
  const { client } = createScriptedService(respondInTurn('pending'));
  const aborts = [new AbortController(), new AbortController()];
  const [first, second] = aborts.map(({ signal }) =>
    timeSettlement(client.waitForFinalStatus(REFERENCE, { signal })),
  );
  await vi.advanceTimersByTimeAsync(SECOND);
  aborts[1]?.abort(new Error('second'));
  expect(await second).toMatchObject({ at: SECOND, error: { message: 'second' } });
  await vi.advanceTimersByTimeAsync(SECOND);
  aborts[0]?.abort(new Error('first'));
  expect(await first).toMatchObject({ at: 2 * SECOND, error: { message: 'first' } });
});

test('starts a new wait after an abort; @azure/core-lro cannot', async () => {
  const { client } = createScriptedService(respondInTurn('pending', 'success'));
  const abort = new AbortController();
  const first = timeSettlement(client.waitForFinalStatus(REFERENCE, { signal: abort.signal }));
  await vi.advanceTimersByTimeAsync(SECOND);
  abort.abort();
  await first;
  expect((await runToEnd(client.waitForFinalStatus(REFERENCE))).status).toBe('success');
});

test('keeps its schedule on an unknown status; openai-node polls without pause', async () => {
  const { client, seen } = createScriptedService(respondInTurn('reversed'));
  timeSettlement(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(seen.map(({ at }) => Math.round(at / SECOND))).toEqual([
    0, 8, 11, 14, 17, 21, 25, 30, 35, 40, 46, 52, 58,
  ]);
  client.close();
});

test('ends at its deadline; openai-node polls for ever (openai-python#1855)', async () => {
  const { client } = createScriptedService(() => new Promise(() => {}));
  expect(await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE)))).toMatchObject({
    at: 10 * MINUTE,
  });
});

test('reports status and reference at timeout; google-gax reports neither', async () => {
  const { client } = createScriptedService(respondInTurn('pending'));
  const { error } = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: MINUTE })));
  const text = String(error);
  expect(text).toContain(REFERENCE);
  expect(text).toContain('"pending"');
  expect(text).toMatch(/after \d+ checks/);
  expect(text).not.toMatch(/no status in/);
});

test('reports why polls failed; google-gax loses the reason', async () => {
  const { client } = createScriptedService(respondInTurn(createResetError()));
  const { error } = await runToEnd(
    timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: 20 * SECOND })),
  );
  expect(error).toBeInstanceOf(WaitTimeoutError);
  expect(String(error)).toMatch(/no status in \d+ checks, last error/);
});

test('keeps the wait after an error; google-gax rejects unhandled (#1304)', async () => {
  const { client } = createScriptedService(respondInTurn(createResetError(), 'success'));
  expect((await runToEnd(client.waitForFinalStatus(REFERENCE))).status).toBe('success');
});

test('reports the last value and aborts the check; p-wait-for does neither', async () => {
  const polls: Poll[] = [];
  const { client, seen } = createScriptedService((_, count) =>
    count === 1 ? 'processing' : new Promise(() => {}),
  );
  const wait = client.waitForFinalStatus(REFERENCE, { timeout: 8_000, onPoll: (poll) => polls.push(poll) });
  const { error } = await runToEnd(timeSettlement(wait));
  expect(error).toMatchObject({ lastStatus: 'processing', attempts: 2 });
  expect(seen[1]?.signal.aborted).toBe(true);
  expect(polls).toHaveLength(1);
});

test('recovers its rate gradually after a 429; auth-oauth-device at once', async () => {
  const start = performance.now();
  const slowDown = () => new Response('', { status: 429, headers: { 'retry-after': '1' } });
  const { client, seen } = createScriptedService(() =>
    performance.now() - start < SECOND ? slowDown() : 'pending',
  );
  for (let count = 0; count < 500; count++) timeSettlement(client.waitForFinalStatus(`TXN-${count}`));
  await vi.advanceTimersByTimeAsync(3 * SECOND);
  expect(seen.filter(({ at }) => at >= SECOND && at < 2 * SECOND).length).toBeLessThanOrEqual(35);
  client.close();
});
