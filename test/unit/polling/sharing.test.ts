import { expect, test, vi } from 'vitest';
import { type PaymentsEvent, type Poll, TransactionMismatchError } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import {
  flushMicrotasks,
  MINUTE,
  runToEnd,
  SECOND,
  timeSettlement,
  useFakeClock,
} from '../../helpers/fake-clock.ts';
import { createServiceWithSuccessFrom, measurePollTimes, readPollTimes } from '../../helpers/poll-times.ts';
import { createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';

useFakeClock();

test('makes the polls of one for 50 waits on one reference', async () => {
  const alone = await measurePollTimes(50 * SECOND);
  const { client, seen } = createServiceWithSuccessFrom(50 * SECOND);
  const waits = Array.from({ length: 50 }, () => client.waitForFinalStatus(REFERENCE));
  const transactions = await runToEnd(Promise.all(waits));
  expect(transactions.map(({ status }) => status)).toEqual(Array(50).fill('success'));
  expect(readPollTimes(seen)).toEqual(alone);
});

test('makes the polls of the first for waits that join one after another', async () => {
  const alone = await measurePollTimes(50 * SECOND);
  const { client, seen } = createServiceWithSuccessFrom(50 * SECOND);
  const waits: Promise<unknown>[] = [];
  for (let count = 0; count < 50; count++) {
    waits.push(client.waitForFinalStatus(REFERENCE));
    await vi.advanceTimersByTimeAsync(700);
  }
  await runToEnd(Promise.all(waits));
  expect(readPollTimes(seen)).toEqual(alone);
});

test('keeps the other waits when one aborts, even the first one in flight', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending', 'success'), { latency: SECOND });
  const aborts = [new AbortController(), new AbortController()];
  const [first, second] = aborts.map(({ signal }) =>
    timeSettlement(client.waitForFinalStatus(REFERENCE, { signal })),
  );
  const third = timeSettlement(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(500);
  aborts[0]?.abort(new Error('first'));
  expect(await first).toMatchObject({ at: 500, error: { message: 'first' } });
  expect(seen[0]?.signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(3 * SECOND);
  aborts[1]?.abort(new Error('second'));
  expect(await second).toMatchObject({ error: { message: 'second' } });
  expect((await runToEnd(third)).value?.status).toBe('success');
});

test('aborts the request in flight when the last wait ends, not before', async () => {
  const { client, seen } = createScriptedService(() => new Promise(() => {}));
  const aborts = Array.from({ length: 3 }, () => new AbortController());
  const waits = aborts.map(({ signal }) => timeSettlement(client.waitForFinalStatus(REFERENCE, { signal })));
  await vi.advanceTimersByTimeAsync(100);
  const inFlight: unknown[] = [];
  for (const abort of aborts) {
    abort.abort();
    inFlight.push(seen[0]?.signal.aborted);
  }
  expect(inFlight).toEqual([false, false, true]);
  await Promise.all(waits);
});

test('ends all waits that share a signal and a reference', async () => {
  const { client } = createScriptedService(respondInTurn('pending'));
  const abort = new AbortController();
  const waits = Array.from({ length: 5 }, () =>
    timeSettlement(client.waitForFinalStatus(REFERENCE, { signal: abort.signal })),
  );
  await vi.advanceTimersByTimeAsync(SECOND);
  abort.abort();
  const ends = await Promise.all(waits);
  expect(ends.map(({ at }) => at)).toEqual(Array(5).fill(SECOND));
});

test('compares expect for each wait', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending', 'success'));
  const [right, wrong, careless] = await runToEnd(
    Promise.all([
      timeSettlement(client.waitForFinalStatus(REFERENCE, { expect: { amount: '25.50', currency: 'ghs' } })),
      timeSettlement(client.waitForFinalStatus(REFERENCE, { expect: { amount: 100 } })),
      timeSettlement(client.waitForFinalStatus(REFERENCE)),
    ]),
  );
  expect(right.value?.status).toBe('success');
  expect(wrong.error).toBeInstanceOf(TransactionMismatchError);
  expect(careless.value?.status).toBe('success');
  expect(seen).toHaveLength(2);
});

test('applies finalStatuses to each wait', async () => {
  const { client, seen } = createScriptedService(respondInTurn('abandoned', 'pending', 'success'));
  const [usual, longWait] = await runToEnd(
    Promise.all([
      timeSettlement(client.waitForFinalStatus(REFERENCE)),
      timeSettlement(client.waitForFinalStatus(REFERENCE, { finalStatuses: ['success', 'failed'] })),
    ]),
  );
  expect(usual.value?.status).toBe('abandoned');
  expect(longWait.value?.status).toBe('success');
  expect(seen).toHaveLength(3);
});

test('sends the headers of the first wait', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending', 'success'));
  const shop = (name: string) => client.waitForFinalStatus(REFERENCE, { headers: { 'x-shop': name } });
  await runToEnd(Promise.all([shop('accra'), shop('kumasi')]));
  expect(seen.map(({ headers }) => headers.get('x-shop'))).toEqual(['accra', 'accra']);
});

test('counts the poll in flight as the first poll of a joining wait', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'), { latency: SECOND });
  const first = timeSettlement(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(500);
  const attempts: number[] = [];
  const onPoll = ({ attempt }: Poll) => void attempts.push(attempt);
  const second = timeSettlement(client.waitForFinalStatus(REFERENCE, { onPoll }));
  expect(await runToEnd(second)).toMatchObject({ at: 500, value: { status: 'success' } });
  expect(attempts).toEqual([1]);
  await first;
  expect(seen).toHaveLength(1);
});

test('polls at once for a wait without startedAt that joins one with it', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'));
  const longWait = timeSettlement(client.waitForFinalStatus(REFERENCE, { startedAt: Date.now() }));
  await vi.advanceTimersByTimeAsync(SECOND);
  const curious = timeSettlement(client.waitForFinalStatus(REFERENCE));
  expect(await runToEnd(curious)).toMatchObject({ at: 0 });
  expect(await longWait).toMatchObject({ at: SECOND });
  expect(seen).toHaveLength(1);
});

test('starts anew for a later wait: with a poll, a count and its own headers', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending', 'pending', 'success'));
  await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: 6_000 })), 7_000);
  expect(seen).toHaveLength(2);
  const polls: number[] = [];
  const again = timeSettlement(
    client.waitForFinalStatus(REFERENCE, {
      headers: { 'x-shop': 'tema' },
      onPoll: ({ attempt }) => polls.push(attempt),
    }),
  );
  expect(await runToEnd(again)).toMatchObject({ at: 0, value: { status: 'success' } });
  expect(seen.map(({ at }) => at)).toEqual([0, 5_500, 7_000]);
  expect(seen[2]?.headers.get('x-shop')).toBe('tema');
  expect(polls).toEqual([1]);
});

test('ignores the response to an aborted request in a new wait', async () => {
  const responses: ((status: string) => void)[] = [];
  const { client, seen } = createScriptedService(() => new Promise((resolve) => responses.push(resolve)));
  const abort = new AbortController();
  const old = timeSettlement(client.waitForFinalStatus(REFERENCE, { signal: abort.signal }));
  await vi.advanceTimersByTimeAsync(100);
  abort.abort();
  const anew = timeSettlement(client.waitForFinalStatus(REFERENCE));
  responses[0]?.('failed');
  await vi.advanceTimersByTimeAsync(100);
  expect(seen).toHaveLength(2);
  responses[1]?.('success');
  expect((await runToEnd(anew)).value?.status).toBe('success');
  expect((await old).value).toBeUndefined();
});

test('shares polls among waits and watches of one client only', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending', 'success'));
  const statuses = (async () => {
    const list: string[] = [];
    for await (const { status } of client.watch(REFERENCE)) list.push(status);
    return list;
  })();
  const wait = client.waitForFinalStatus(REFERENCE);
  expect(await runToEnd(statuses)).toEqual(['pending', 'success']);
  expect((await wait).status).toBe('success');
  expect(seen).toHaveLength(2);
});

test('reports one event for each poll and one for each wait', async () => {
  const events: PaymentsEvent[] = [];
  const { client } = createScriptedService(respondInTurn('pending', 'success'), {
    onEvent: (event) => events.push(event),
  });
  await runToEnd(Promise.all([1, 2, 3].map(() => client.waitForFinalStatus(REFERENCE))));
  await flushMicrotasks();
  expect(events.filter(({ type }) => type === 'poll')).toHaveLength(2);
  expect(events.filter(({ type }) => type === 'wait')).toHaveLength(3);
});

test('ends 10,000 waits on one reference together', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending', 'success'));
  const waits = Array.from({ length: 10_000 }, () => client.waitForFinalStatus(REFERENCE));
  const transactions = await runToEnd(Promise.all(waits), MINUTE);
  expect(new Set(transactions.map(({ status }) => status))).toEqual(new Set(['success']));
  expect(seen).toHaveLength(2);
});
