import { getEventListeners } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { expect, test, vi } from 'vitest';
import type { PaymentsClient, Transaction, WaitOptions } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { flushMicrotasks, MINUTE, runToEnd, SECOND, useFakeClock } from '../../helpers/fake-clock.ts';
import { createResetError, createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';

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

test('yields one transaction for a payment that is already final', async () => {
  const { client, seen } = createScriptedService(respondInTurn('failed'));
  expect((await runToEnd(watched(client))).statuses).toEqual(['failed']);
  expect(seen).toHaveLength(1);
});

test('distinguishes unrecognised statuses by their raw value', async () => {
  const { client } = createScriptedService(respondInTurn('on_hold', 'on_hold', 'in_review', 'success'));
  const { seen } = await runToEnd(watched(client));
  expect(
    seen.map((transaction) => ('raw_status' in transaction ? transaction.raw_status : 'success')),
  ).toEqual(['on_hold', 'in_review', 'success']);
});

test('yields nothing for temporary errors between two equal statuses', async () => {
  const { client } = createScriptedService(
    respondInTurn('pending', createResetError(), 'pending', 'success'),
  );
  expect((await runToEnd(watched(client))).statuses).toEqual(['pending', 'success']);
});

test('throws at its deadline, after the changes before it', async () => {
  const { client } = createScriptedService(respondInTurn('pending'));
  const { statuses, error } = await runToEnd(watched(client, { timeout: MINUTE }));
  expect(statuses).toEqual(['pending']);
  expect(error).toMatchObject({ code: 'wait_timeout', elapsed: MINUTE });
});

test('throws instead of yielding a final transaction that does not match', async () => {
  const { client } = createScriptedService(respondInTurn('pending', 'success'));
  const { statuses, error } = await runToEnd(watched(client, { expect: { amount: 100 } }));
  expect(statuses).toEqual(['pending']);
  expect(error).toMatchObject({ code: 'transaction_mismatch', transaction: { status: 'success' } });
});

test('throws a permanent error', async () => {
  const { client } = createScriptedService(respondInTurn('pending', new Response('', { status: 401 })));
  const { statuses, error } = await runToEnd(watched(client));
  expect(statuses).toEqual(['pending']);
  expect(error).toMatchObject({ code: 'authentication_error' });
});

test('throws the reason of an abort', async () => {
  const { client } = createScriptedService(respondInTurn('pending'));
  const abort = new AbortController();
  const watch = watched(client, { signal: abort.signal });
  await vi.advanceTimersByTimeAsync(SECOND);
  const reason = new Error('the customer went away');
  abort.abort(reason);
  expect((await watch).error).toBe(reason);
});

test('throws ClosedError after close', async () => {
  const { client } = createScriptedService(respondInTurn('pending'));
  const watch = watched(client);
  await vi.advanceTimersByTimeAsync(SECOND);
  client.close();
  expect((await watch).error).toMatchObject({ code: 'closed' });
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

test('keeps a wait on the same reference after break', async () => {
  const { client } = createScriptedService(respondInTurn('pending', 'success'));
  const wait = client.waitForFinalStatus(REFERENCE);
  const watch = client.watch(REFERENCE);
  const first = watch.next();
  await vi.advanceTimersByTimeAsync(SECOND);
  expect((await first).value).toMatchObject({ status: 'pending' });
  await watch.return();
  expect((await runToEnd(wait)).status).toBe('success');
});

test('yields nothing after its end', async () => {
  const { client } = createScriptedService(respondInTurn('success'));
  const watch = client.watch(REFERENCE);
  const first = watch.next();
  await vi.advanceTimersByTimeAsync(SECOND);
  await first;
  expect(await watch.next()).toEqual({ done: true, value: undefined });
  expect(await watch.next()).toEqual({ done: true, value: undefined });
});

test('yields every change to several watches, from few polls', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending', 'processing', 'success'));
  const watches = await runToEnd(Promise.all([watched(client), watched(client), watched(client)]));
  expect(watches.map(({ statuses }) => statuses)).toEqual(
    Array(3).fill(['pending', 'processing', 'success']),
  );
  expect(seen).toHaveLength(3);
  await flushMicrotasks();
});

test('rejects a wrong reference or option', () => {
  const { client } = createScriptedService(respondInTurn('success'));
  expect(() => client.watch('8f2c61d0')).toThrow(expect.objectContaining({ code: 'invalid_input' }));
  expect(() => client.watch(REFERENCE, { minDelay: -1 })).toThrow(
    expect.objectContaining({ code: 'configuration_error' }),
  );
});

test('ends at once on return() while the reader waits for a change', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const { signal } = new AbortController();
  const watch = client.watch(REFERENCE, { signal });
  const first = watch.next();
  await vi.advanceTimersByTimeAsync(SECOND);
  await first;
  const second = watch.next();
  await vi.advanceTimersByTimeAsync(SECOND);
  const returned = watch.return();
  await flushMicrotasks();
  expect(vi.getTimerCount()).toBe(0);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  expect(await second).toEqual({ done: true, value: undefined });
  expect(await returned).toEqual({ done: true, value: undefined });
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(seen).toHaveLength(1);
});

test('ends at once on throw() while the reader waits for a change', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const watch = client.watch(REFERENCE);
  const first = watch.next();
  await vi.advanceTimersByTimeAsync(SECOND);
  await first;
  const second = watch.next();
  const thrown = expect(watch.throw(new Error('the browser went away'))).rejects.toThrow('the browser');
  await flushMicrotasks();
  expect(vi.getTimerCount()).toBe(0);
  expect(await second).toEqual({ done: true, value: undefined });
  await thrown;
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
