import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import { type Poll, WaitTimeoutError } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { MINUTE, SECOND, settled, timed, useFakeClock } from '../../helpers/fake-clock.ts';
import { brokenConnection, inTurn, scriptedService } from '../../helpers/scripted-service.ts';

useFakeClock();

// What general helpers get wrong, each measured or reported: ours must not.

test('@smithy/util-waiter gives up to a whole maxDelay early: ours makes its last poll just before the deadline', async () => {
  const { client, seen } = scriptedService(inTurn('pending'));
  const delays = { initialDelay: 0, minDelay: 500, maxDelay: 2_000 };
  const end = await settled(timed(client.waitForFinalStatus(REFERENCE, { ...delays, timeout: 5_000 })));
  expect(end).toMatchObject({ at: 5_000, error: { code: 'wait_timeout' } });
  expect(seen.at(-1)?.at).toBe(4_500);
});

test('@smithy/util-waiter sends one more request after an abort, and keeps its timer: ours does neither', async () => {
  const { client, seen } = scriptedService(inTurn('pending'));
  const abort = new AbortController();
  const wait = timed(client.waitForFinalStatus(REFERENCE, { signal: abort.signal }));
  await vi.advanceTimersByTimeAsync(200);
  abort.abort();
  expect(await wait).toMatchObject({ at: 200 });
  expect(vi.getTimerCount()).toBe(0);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(seen).toHaveLength(1);
});

test('@smithy/util-waiter leaks abort listeners (smithy-typescript#1331): ours leaves none', async () => {
  const { client } = scriptedService(inTurn('pending', 'pending', 'success'));
  const { signal } = new AbortController();
  await settled(client.waitForFinalStatus(REFERENCE, { signal }));
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('the AWS waiters hang on AccessDenied until their timeout (aws-sdk-js-v3#2091): ours fails at once', async () => {
  const { client, seen } = scriptedService(inTurn(new Response('', { status: 403 })));
  const end = await settled(timed(client.waitForFinalStatus(REFERENCE)));
  expect(end).toMatchObject({ at: 0, error: { code: 'permission_denied' } });
  expect(seen).toHaveLength(1);
});

test('the AWS waiters sleep before their first poll (aws-sdk-js-v3#1909): ours asks at once', async () => {
  const { client } = scriptedService(inTurn('success'));
  expect(await settled(timed(client.waitForFinalStatus(REFERENCE)))).toMatchObject({ at: 0 });
});

test('the AWS waiters lose the last response at a timeout: ours has it on the error', async () => {
  const { client } = scriptedService(inTurn('processing'));
  const { error } = await settled(timed(client.waitForFinalStatus(REFERENCE)));
  expect(error).toMatchObject({ lastTransaction: { reference: REFERENCE, status: 'processing' } });
});

test('@azure/core-lro is dead for ever after one 429: ours waits it out', async () => {
  const refusal = new Response('', { status: 429, headers: { 'retry-after': '2' } });
  const { client, seen } = scriptedService(inTurn('pending', refusal, refusal, 'success'));
  expect((await settled(client.waitForFinalStatus(REFERENCE))).status).toBe('success');
  expect(seen).toHaveLength(4);
});

test('@azure/core-lro honours Retry-After on 2xx only: ours does on a 503', async () => {
  const busy = new Response('', { status: 503, headers: { 'retry-after': '12' } });
  const { client, seen } = scriptedService(inTurn(busy, 'success'));
  await settled(client.waitForFinalStatus(REFERENCE));
  expect(seen.map(({ at }) => at)).toEqual([0, 12_000]);
});

test("@azure/core-lro ignores the second caller's signal, and the first's ends both: ours keeps to each its own", async () => {
  const { client } = scriptedService(inTurn('pending'));
  const aborts = [new AbortController(), new AbortController()];
  const [first, second] = aborts.map(({ signal }) => timed(client.waitForFinalStatus(REFERENCE, { signal })));
  await vi.advanceTimersByTimeAsync(SECOND);
  aborts[1]?.abort(new Error('second'));
  expect(await second).toMatchObject({ at: SECOND, error: { message: 'second' } });
  await vi.advanceTimersByTimeAsync(SECOND);
  aborts[0]?.abort(new Error('first'));
  expect(await first).toMatchObject({ at: 2 * SECOND, error: { message: 'first' } });
});

test('@azure/core-lro cannot be used again after an abort: ours begins anew', async () => {
  const { client } = scriptedService(inTurn('pending', 'success'));
  const abort = new AbortController();
  const first = timed(client.waitForFinalStatus(REFERENCE, { signal: abort.signal }));
  await vi.advanceTimersByTimeAsync(SECOND);
  abort.abort();
  await first;
  expect((await settled(client.waitForFinalStatus(REFERENCE))).status).toBe('success');
});

test('openai-node spins on a status that it does not know, 5,846 requests in half a second: ours keeps its cadence', async () => {
  const { client, seen } = scriptedService(inTurn('reversed'));
  timed(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(seen.map(({ at }) => Math.round(at / SECOND))).toEqual([
    0, 8, 11, 14, 17, 21, 25, 30, 35, 40, 46, 52, 58,
  ]);
  client.close();
});

test('openai-node has no deadline of its own for a poll (openai-python#1855): ours ends a service that hangs', async () => {
  const { client } = scriptedService(() => new Promise(() => {}));
  expect(await settled(timed(client.waitForFinalStatus(REFERENCE)))).toMatchObject({ at: 10 * MINUTE });
});

test('google-gax says "before any response was received" after many: ours says what it heard, and about what', async () => {
  const { client } = scriptedService(inTurn('pending'));
  const { error } = await settled(timed(client.waitForFinalStatus(REFERENCE, { timeout: MINUTE })));
  const text = String(error);
  expect(text).toContain(REFERENCE);
  expect(text).toContain('"pending"');
  expect(text).toMatch(/after \d+ checks/);
  expect(text).not.toMatch(/no status in/);
});

test('google-gax loses why a poll failed: ours says so, and that no status came, only where none did', async () => {
  const { client } = scriptedService(inTurn(brokenConnection()));
  const { error } = await settled(timed(client.waitForFinalStatus(REFERENCE, { timeout: 20 * SECOND })));
  expect(error).toBeInstanceOf(WaitTimeoutError);
  expect(String(error)).toMatch(/no status in \d+ checks, last error/);
});

test('google-gax ends with the first error of a poll (gax-nodejs#1304): ours goes on, with no unhandled rejection', async () => {
  const { client } = scriptedService(inTurn(brokenConnection(), 'success'));
  expect((await settled(client.waitForFinalStatus(REFERENCE))).status).toBe('success');
});

test('p-wait-for loses the last value at a timeout, and lets the running check go on: ours does neither', async () => {
  const polls: Poll[] = [];
  const { client, seen } = scriptedService((_, count) =>
    count === 1 ? 'processing' : new Promise(() => {}),
  );
  const wait = client.waitForFinalStatus(REFERENCE, { timeout: 8_000, onPoll: (poll) => polls.push(poll) });
  const { error } = await settled(timed(wait));
  expect(error).toMatchObject({ lastStatus: 'processing', attempts: 2 });
  expect(seen[1]?.signal.aborted).toBe(true);
  expect(polls).toHaveLength(1);
});

test('auth-oauth-device forgets that it was told to slow down: ours comes back to its rate gradually', async () => {
  const began = performance.now();
  const slowDown = () => new Response('', { status: 429, headers: { 'retry-after': '1' } });
  const { client, seen } = scriptedService(() =>
    performance.now() - began < SECOND ? slowDown() : 'pending',
  );
  for (let count = 0; count < 500; count++) timed(client.waitForFinalStatus(`TXN-${count}`));
  await vi.advanceTimersByTimeAsync(3 * SECOND);
  expect(seen.filter(({ at }) => at >= SECOND && at < 2 * SECOND).length).toBeLessThanOrEqual(35);
  client.close();
});
