import { getEventListeners } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { expect, test, vi } from 'vitest';
import type { PaymentsClient, Transaction, WaitOptions } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { flushMicrotasks, MINUTE, runToEnd, SECOND, useFakeClock } from '../../helpers/fake-clock.ts';
import { createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';

useFakeClock();

/** Returns all that a watch yields, and its end. */
async function watched(client: PaymentsClient, options?: WaitOptions) {
  const seen: Transaction[] = [];
  let error: unknown;
  try {
    for await (const transaction of client.watch(REFERENCE, options)) seen.push(transaction);
  } catch (thrown) {
    error = thrown;
  }
  return { statuses: seen.map(({ status }) => status), seen, error };
}

test('yields each change of status once, the final one last', async () => {
  const script = respondInTurn(
    'pending',
    'pending',
    'processing',
    'processing',
    'pending',
    'success',
    'failed',
  );
  const { client } = createScriptedService(script);
  const { statuses, error } = await runToEnd(watched(client));
  expect(statuses).toEqual(['pending', 'processing', 'pending', 'success']);
  expect(error).toBeUndefined();
});

test('distinguishes unrecognised statuses by their raw value', async () => {
  const { client } = createScriptedService(respondInTurn('on_hold', 'on_hold', 'in_review', 'success'));
  const { seen } = await runToEnd(watched(client));
  expect(
    seen.map((transaction) => ('raw_status' in transaction ? transaction.raw_status : 'success')),
  ).toEqual(['on_hold', 'in_review', 'success']);
});

test('throws at its deadline, after the changes before it', async () => {
  const { client } = createScriptedService(respondInTurn('pending'));
  const { statuses, error } = await runToEnd(watched(client, { timeout: MINUTE }));
  expect(statuses).toEqual(['pending']);
  expect(error).toMatchObject({ code: 'wait_timeout', elapsed: MINUTE });
});

test('yields what the one check after its deadline finds, and then throws', async () => {
  const { client } = createScriptedService(respondInTurn('processing'));
  const startedAt = Date.now() - MINUTE;
  const { statuses, error } = await runToEnd(watched(client, { startedAt, timeout: SECOND }));
  expect(statuses).toEqual(['processing']);
  expect(error).toMatchObject({ code: 'wait_timeout' });
});

test('throws instead of yielding a final transaction that does not match', async () => {
  const { client } = createScriptedService(respondInTurn('pending', 'success'));
  const { statuses, error } = await runToEnd(watched(client, { expect: { amount: 100 } }));
  expect(statuses).toEqual(['pending']);
  expect(error).toMatchObject({ code: 'transaction_mismatch', transaction: { status: 'success' } });
});

test('yields nothing of a poll during which it is aborted', async () => {
  const { client } = createScriptedService(respondInTurn('pending'));
  const abort = new AbortController();
  const { signal } = abort;
  const wait = client.waitForFinalStatus(REFERENCE, { signal, onPoll: () => abort.abort() });
  const ends = [wait.catch((error: unknown) => ({ statuses: [], error })), watched(client, { signal })];
  expect(await runToEnd(Promise.all(ends))).toMatchObject(
    Array(2).fill({ statuses: [], error: signal.reason }),
  );
});

test('yields every change to a slow reader', async () => {
  const { client } = createScriptedService(
    respondInTurn('pending', 'processing', 'pending', 'processing', 'success'),
  );
  const statuses: string[] = [];
  const reading = (async () => {
    for await (const { status } of client.watch(REFERENCE)) {
      statuses.push(status);
      await new Promise((resolve) => setTimeout(resolve, MINUTE));
    }
  })();
  await runToEnd(reading);
  expect(statuses).toEqual(['pending', 'processing', 'pending', 'processing', 'success']);
});

test('rejects a wrong reference or option', () => {
  const { client } = createScriptedService(respondInTurn('success'));
  expect(() => client.watch('8f2c61d0')).toThrow(expect.objectContaining({ code: 'invalid_input' }));
  expect(() => client.watch(REFERENCE, { minDelay: -1 })).toThrow(
    expect.objectContaining({ code: 'configuration_error' }),
  );
});

const thrown = new Error('the browser went away');

test.each([
  ['return', (watch: AsyncGenerator<Transaction, void>) => watch.return()],
  ['throw', (watch: AsyncGenerator<Transaction, void>) => watch.throw(thrown)],
])('ends at once on %s() while the reader waits for a change', async (how, leave) => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const { signal } = new AbortController();
  const watch = client.watch(REFERENCE, { signal });
  const first = watch.next();
  await vi.advanceTimersByTimeAsync(SECOND);
  await first;
  const second = watch.next();
  await vi.advanceTimersByTimeAsync(SECOND);
  const left = leave(watch).catch((error: unknown) => error);
  await flushMicrotasks();
  expect(vi.getTimerCount()).toBe(0);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  expect(await second).toEqual({ done: true, value: undefined });
  expect(await left).toEqual(how === 'throw' ? thrown : { done: true, value: undefined });
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(seen).toHaveLength(1);
});

test('ends its wait if the reader of its stream leaves', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending', 'processing'));
  const browser = new Writable({ objectMode: true, write: (_chunk, _encoding, done) => done() });
  const streaming = pipeline(Readable.from(client.watch(REFERENCE)), browser).catch(() => {});
  await vi.advanceTimersByTimeAsync(SECOND);
  browser.destroy();
  await vi.advanceTimersByTimeAsync(1);
  expect(vi.getTimerCount()).toBe(0);
  await streaming;
  expect(seen).toHaveLength(1);
});

test('checks nothing if return() is called before the first read', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const watch = client.watch(REFERENCE);
  await watch.return();
  expect(await watch.next()).toEqual({ done: true, value: undefined });
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(seen).toEqual([]);
});
