import { expect, test, vi } from 'vitest';
import type { PaymentsClient, PaymentsEvent, Transaction } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { MINUTE, runToEnd, SECOND, timeSettlement, useFakeClock } from '../../helpers/fake-clock.ts';
import {
  createScriptedService,
  respondInTurn,
  type ScriptedResponse,
} from '../../helpers/scripted-service.ts';

useFakeClock();

// Inside a callback or an event the caller can do anything at once: start a wait, end one, notify, close.

type Result = { at: number; value: Transaction | undefined; error: unknown };

/** Creates a client that runs `action` inside the first event of a type. */
function meddling(
  say: (reference: string, count: number) => ScriptedResponse | Promise<ScriptedResponse>,
  type: PaymentsEvent['type'],
  meddle: (client: PaymentsClient) => void,
) {
  let done = false;
  const service = createScriptedService(say, {
    onEvent: (event) => {
      if (done || event.type !== type) return;
      done = true;
      meddle(service.client);
    },
  });
  return service;
}

test.each(['poll', 'wait', 'response', 'request'] as const)(
  'ends a wait on the same reference that starts in a %s event',
  async (type) => {
    const again: Promise<Result>[] = [];
    const { client } = meddling(respondInTurn('success'), type, (payments) => {
      again.push(timeSettlement(payments.waitForFinalStatus(REFERENCE)));
    });
    const first = timeSettlement(client.waitForFinalStatus(REFERENCE));
    const second = timeSettlement(client.waitForFinalStatus(REFERENCE));
    const ends = await runToEnd(Promise.all([first, second]), MINUTE);
    expect(ends.map(({ value }) => value?.status)).toEqual(['success', 'success']);
    expect(again).toHaveLength(1);
    expect((await runToEnd(Promise.all(again), MINUTE))[0]?.value?.status).toBe('success');
    expect(vi.getTimerCount()).toBe(0);
  },
);

test('ends a wait that starts in onPoll of the final poll', async () => {
  const { client } = createScriptedService(respondInTurn('success'));
  const again: Promise<Result>[] = [];
  const onPoll = () => void again.push(timeSettlement(client.waitForFinalStatus(REFERENCE)));
  await runToEnd(client.waitForFinalStatus(REFERENCE, { onPoll }), MINUTE);
  expect((await runToEnd(Promise.all(again), MINUTE))[0]?.value?.status).toBe('success');
});

test("calls onPoll first with the wait's own first poll if it starts in onPoll", async () => {
  const { client } = createScriptedService(respondInTurn('pending', 'success'));
  const attempts: number[] = [];
  let begun = false;
  const onPoll = () => {
    if (begun) return;
    begun = true;
    timeSettlement(client.waitForFinalStatus(REFERENCE, { onPoll: ({ attempt }) => attempts.push(attempt) }));
  };
  await runToEnd(client.waitForFinalStatus(REFERENCE, { onPoll }));
  expect(attempts).toEqual([1]);
});

test.each(['poll', 'wait', 'response', 'request'] as const)(
  'ends every wait and leaves nothing after close in a %s event',
  async (type) => {
    const say = (reference: string) => (reference === REFERENCE ? 'success' : 'pending');
    const { client, seen } = meddling(say, type, (payments) => payments.close());
    const waits = [REFERENCE, REFERENCE, 'TXN-other'].map((reference) =>
      timeSettlement(client.waitForFinalStatus(reference)),
    );
    const ends = await runToEnd(Promise.all(waits), MINUTE);
    expect(ends.every(({ at }) => at === 0)).toBe(true);
    expect(ends[2]).toMatchObject({ error: { code: 'closed' } });
    expect(vi.getTimerCount()).toBe(0);
    const sent = seen.length;
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    expect(seen).toHaveLength(sent);
  },
);

test('sends no request after close in the apiKey function', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'), {
    apiKey: () => {
      client.close();
      return 'sk_test_late';
    },
  });
  const waits = ['TXN-0', 'TXN-1'].map((reference) => timeSettlement(client.waitForFinalStatus(reference)));
  const ends = await runToEnd(Promise.all(waits), MINUTE);
  expect(ends).toMatchObject(Array(2).fill({ error: { code: 'closed' } }));
  expect(seen).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test('ends the other waits of a signal that is aborted in a wait event', async () => {
  const abort = new AbortController();
  const { client } = meddling(respondInTurn('pending'), 'wait', () => abort.abort());
  const { signal } = abort;
  const waits = [1_000, 5_000, 9_000].map((timeout, index) =>
    timeSettlement(client.waitForFinalStatus(`TXN-${index}`, { signal, timeout })),
  );
  const ends = await runToEnd(Promise.all(waits), MINUTE);
  expect(ends.map(({ at }) => at)).toEqual([1_000, 1_000, 1_000]);
  expect(vi.getTimerCount()).toBe(0);
});

test('does not hang if a wait restarts in its wait event after its deadline', async () => {
  let again = 0;
  const startedAt = Date.now();
  const { client } = createScriptedService(respondInTurn('pending'), {
    onEvent: ({ type }) => {
      if (type !== 'wait' || ++again > 50) return;
      timeSettlement(client.waitForFinalStatus(REFERENCE, { startedAt, timeout: SECOND }));
    },
  });
  timeSettlement(client.waitForFinalStatus(REFERENCE, { startedAt, timeout: SECOND }));
  await vi.advanceTimersByTimeAsync(SECOND + 10);
  // One for each wake-up of the timer, so that all other work gets its turn in between.
  expect(again).toBeGreaterThan(1);
  expect(again).toBeLessThan(50);
  await runToEnd(Promise.resolve());
  expect(again).toBeGreaterThan(50);
  expect(vi.getTimerCount()).toBe(0);
});

test('makes one extra poll a second if every event calls notify', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'), {
    onEvent: () => client.notify(REFERENCE),
    latency: 10,
  });
  timeSettlement(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(20 * SECOND);
  expect(seen.length).toBeLessThanOrEqual(22);
  client.close();
});

test('keeps the other waits if onPoll aborts its own signal', async () => {
  const { client } = createScriptedService(respondInTurn('pending', 'success'));
  const aborts = Array.from({ length: 3 }, () => new AbortController());
  const waits = aborts.map((abort, index) =>
    timeSettlement(
      client.waitForFinalStatus(REFERENCE, {
        signal: abort.signal,
        onPoll: () => {
          if (index === 1) abort.abort();
        },
      }),
    ),
  );
  const ends = await runToEnd(Promise.all(waits));
  expect(ends.map(({ value }) => value?.status)).toEqual(['success', undefined, 'success']);
});
