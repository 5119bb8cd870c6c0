import { getEventListeners } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { expect, test, vi } from 'vitest';
import type { PaymentsClient, Transaction, WaitOptions } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { MINUTE, microtasks, SECOND, settled, useFakeClock } from '../../helpers/fake-clock.ts';
import { brokenConnection, inTurn, scriptedService } from '../../helpers/scripted-service.ts';

useFakeClock();

/** All that a watch yields, and how it ends. */
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

test('a watch yields each change of status once, the final one last', async () => {
  const script = inTurn('pending', 'pending', 'processing', 'processing', 'pending', 'success', 'failed');
  const { client } = scriptedService(script);
  const { statuses, error } = await settled(watched(client));
  expect(statuses).toEqual(['pending', 'processing', 'pending', 'success']);
  expect(error).toBeUndefined();
});

test('a watch of a payment that is final yields that alone', async () => {
  const { client, seen } = scriptedService(inTurn('failed'));
  expect((await settled(watched(client))).statuses).toEqual(['failed']);
  expect(seen).toHaveLength(1);
});

test('unrecognised statuses are told apart by what the service wrote', async () => {
  const { client } = scriptedService(inTurn('on_hold', 'on_hold', 'in_review', 'success'));
  const { seen } = await settled(watched(client));
  expect(
    seen.map((transaction) => ('raw_status' in transaction ? transaction.raw_status : 'success')),
  ).toEqual(['on_hold', 'in_review', 'success']);
});

test('passing faults between two answers are no change', async () => {
  const { client } = scriptedService(inTurn('pending', brokenConnection(), 'pending', 'success'));
  expect((await settled(watched(client))).statuses).toEqual(['pending', 'success']);
});

test('at its deadline a watch throws, after the changes that were seen', async () => {
  const { client } = scriptedService(inTurn('pending'));
  const { statuses, error } = await settled(watched(client, { timeout: MINUTE }));
  expect(statuses).toEqual(['pending']);
  expect(error).toMatchObject({ code: 'wait_timeout', elapsed: MINUTE });
});

test('a final transaction that is not the expected one is never yielded: the watch throws instead', async () => {
  const { client } = scriptedService(inTurn('pending', 'success'));
  const { statuses, error } = await settled(watched(client, { expect: { amount: 100 } }));
  expect(statuses).toEqual(['pending']);
  expect(error).toMatchObject({ code: 'transaction_mismatch', transaction: { status: 'success' } });
});

test('a fatal fault is thrown', async () => {
  const { client } = scriptedService(inTurn('pending', new Response('', { status: 401 })));
  const { statuses, error } = await settled(watched(client));
  expect(statuses).toEqual(['pending']);
  expect(error).toMatchObject({ code: 'authentication_error' });
});

test('an abort is thrown as its own reason', async () => {
  const { client } = scriptedService(inTurn('pending'));
  const abort = new AbortController();
  const watch = watched(client, { signal: abort.signal });
  await vi.advanceTimersByTimeAsync(SECOND);
  const reason = new Error('the customer went away');
  abort.abort(reason);
  expect((await watch).error).toBe(reason);
});

test('close is thrown as ClosedError', async () => {
  const { client } = scriptedService(inTurn('pending'));
  const watch = watched(client);
  await vi.advanceTimersByTimeAsync(SECOND);
  client.close();
  expect((await watch).error).toMatchObject({ code: 'closed' });
});

test('a reader that takes its time misses no change', async () => {
  const { client } = scriptedService(inTurn('pending', 'processing', 'pending', 'processing', 'success'));
  const statuses: string[] = [];
  const reading = (async () => {
    for await (const { status } of client.watch(REFERENCE)) {
      statuses.push(status);
      await new Promise((resolve) => setTimeout(resolve, MINUTE));
    }
  })();
  await settled(reading);
  expect(statuses).toEqual(['pending', 'processing', 'pending', 'processing', 'success']);
});

test('a reader that breaks between two changes leaves a wait on the same reference alone', async () => {
  const { client } = scriptedService(inTurn('pending', 'success'));
  const wait = client.waitForFinalStatus(REFERENCE);
  const watch = client.watch(REFERENCE);
  const first = watch.next();
  await vi.advanceTimersByTimeAsync(SECOND);
  expect((await first).value).toMatchObject({ status: 'pending' });
  await watch.return();
  expect((await settled(wait)).status).toBe('success');
});

test('a reader that throws ends its wait', async () => {
  const { client, seen } = scriptedService(inTurn('pending'));
  const reading = (async () => {
    for await (const { status } of client.watch(REFERENCE)) throw new Error(`cannot show ${status}`);
  })();
  await expect(settled(reading, SECOND)).rejects.toThrow('cannot show pending');
  expect(vi.getTimerCount()).toBe(0);
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(seen).toHaveLength(1);
});

test('an error thrown into a watch ends its wait', async () => {
  const { client } = scriptedService(inTurn('pending'));
  const watch = client.watch(REFERENCE);
  const first = watch.next();
  await vi.advanceTimersByTimeAsync(SECOND);
  await first;
  await expect(watch.throw(new Error('enough'))).rejects.toThrow('enough');
  expect(vi.getTimerCount()).toBe(0);
});

test('after its end a watch gives nothing more', async () => {
  const { client } = scriptedService(inTurn('success'));
  const watch = client.watch(REFERENCE);
  const first = watch.next();
  await vi.advanceTimersByTimeAsync(SECOND);
  await first;
  expect(await watch.next()).toEqual({ done: true, value: undefined });
  expect(await watch.next()).toEqual({ done: true, value: undefined });
});

test('several watches of one reference each see every change, from few polls', async () => {
  const { client, seen } = scriptedService(inTurn('pending', 'processing', 'success'));
  const watches = await settled(Promise.all([watched(client), watched(client), watched(client)]));
  expect(watches.map(({ statuses }) => statuses)).toEqual(
    Array(3).fill(['pending', 'processing', 'success']),
  );
  expect(seen).toHaveLength(3);
  await microtasks();
});

test('a wrong reference or option is refused', () => {
  const { client } = scriptedService(inTurn('success'));
  expect(() => client.watch('8f2c61d0')).toThrow(expect.objectContaining({ code: 'invalid_input' }));
  expect(() => client.watch(REFERENCE, { minDelay: -1 })).toThrow(
    expect.objectContaining({ code: 'configuration_error' }),
  );
});

test('a reader that gives up while it waits for a change, as when a browser goes away, ends the wait at once', async () => {
  const { client, seen } = scriptedService(inTurn('pending'));
  const { signal } = new AbortController();
  const watch = client.watch(REFERENCE, { signal });
  const first = watch.next();
  await vi.advanceTimersByTimeAsync(SECOND);
  await first;
  const second = watch.next();
  await vi.advanceTimersByTimeAsync(SECOND);
  const returned = watch.return();
  await microtasks();
  expect(vi.getTimerCount()).toBe(0);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  expect(await second).toEqual({ done: true, value: undefined });
  expect(await returned).toEqual({ done: true, value: undefined });
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(seen).toHaveLength(1);
});

test('an error thrown into a watch while it waits for a change ends the wait at once', async () => {
  const { client, seen } = scriptedService(inTurn('pending'));
  const watch = client.watch(REFERENCE);
  const first = watch.next();
  await vi.advanceTimersByTimeAsync(SECOND);
  await first;
  const second = watch.next();
  const thrown = expect(watch.throw(new Error('the browser went away'))).rejects.toThrow('the browser');
  await microtasks();
  expect(vi.getTimerCount()).toBe(0);
  expect(await second).toEqual({ done: true, value: undefined });
  await thrown;
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(seen).toHaveLength(1);
});

test('a stream of changes whose reader goes away ends the wait', async () => {
  const { client, seen } = scriptedService(inTurn('pending', 'processing'));
  const browser = new Writable({ objectMode: true, write: (_chunk, _encoding, done) => done() });
  const streaming = pipeline(Readable.from(client.watch(REFERENCE)), browser).catch(() => {});
  await vi.advanceTimersByTimeAsync(SECOND);
  browser.destroy();
  await vi.advanceTimersByTimeAsync(1);
  expect(vi.getTimerCount()).toBe(0);
  await streaming;
  expect(seen).toHaveLength(1);
});

test('a watch that is returned before it is read asks nothing', async () => {
  const { client, seen } = scriptedService(inTurn('pending'));
  const watch = client.watch(REFERENCE);
  await watch.return();
  expect(await watch.next()).toEqual({ done: true, value: undefined });
  await vi.advanceTimersByTimeAsync(MINUTE);
  expect(seen).toEqual([]);
});
