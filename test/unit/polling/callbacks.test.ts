import { expect, test, vi } from 'vitest';
import type { PaymentsClient, PaymentsEvent, Transaction } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { MINUTE, SECOND, settled, timed, useFakeClock } from '../../helpers/fake-clock.ts';
import { inTurn, type Said, scriptedService } from '../../helpers/scripted-service.ts';

useFakeClock();

// Inside a callback or an event the caller can do anything at once: start a wait, end one, notify, close.

type Result = { at: number; value: Transaction | undefined; error: unknown };

/** Creates a client that runs `action` inside the first event of a type. */
function meddling(
  say: (reference: string, count: number) => Said | Promise<Said>,
  type: PaymentsEvent['type'],
  meddle: (client: PaymentsClient) => void,
) {
  let done = false;
  const service = scriptedService(say, {
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
    const { client } = meddling(inTurn('success'), type, (payments) => {
      again.push(timed(payments.waitForFinalStatus(REFERENCE)));
    });
    const first = timed(client.waitForFinalStatus(REFERENCE));
    const second = timed(client.waitForFinalStatus(REFERENCE));
    const ends = await settled(Promise.all([first, second]), MINUTE);
    expect(ends.map(({ value }) => value?.status)).toEqual(['success', 'success']);
    expect(again).toHaveLength(1);
    expect((await settled(Promise.all(again), MINUTE))[0]?.value?.status).toBe('success');
    expect(vi.getTimerCount()).toBe(0);
  },
);

test('ends a wait that starts in onPoll of the final poll', async () => {
  const { client } = scriptedService(inTurn('success'));
  const again: Promise<Result>[] = [];
  const onPoll = () => void again.push(timed(client.waitForFinalStatus(REFERENCE)));
  await settled(client.waitForFinalStatus(REFERENCE, { onPoll }), MINUTE);
  expect((await settled(Promise.all(again), MINUTE))[0]?.value?.status).toBe('success');
});

test("calls onPoll first with the wait's own first poll if it starts in onPoll", async () => {
  const { client } = scriptedService(inTurn('pending', 'success'));
  const attempts: number[] = [];
  let begun = false;
  const onPoll = () => {
    if (begun) return;
    begun = true;
    timed(client.waitForFinalStatus(REFERENCE, { onPoll: ({ attempt }) => attempts.push(attempt) }));
  };
  await settled(client.waitForFinalStatus(REFERENCE, { onPoll }));
  expect(attempts).toEqual([1]);
});

test.each(['poll', 'wait', 'response', 'request'] as const)(
  'ends every wait and leaves nothing after close in a %s event',
  async (type) => {
    const say = (reference: string) => (reference === REFERENCE ? 'success' : 'pending');
    const { client, seen } = meddling(say, type, (payments) => payments.close());
    const waits = [REFERENCE, REFERENCE, 'TXN-other'].map((reference) =>
      timed(client.waitForFinalStatus(reference)),
    );
    const ends = await settled(Promise.all(waits), MINUTE);
    expect(ends.every(({ at }) => at === 0)).toBe(true);
    expect(ends[2]).toMatchObject({ error: { code: 'closed' } });
    expect(vi.getTimerCount()).toBe(0);
    const sent = seen.length;
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    expect(seen).toHaveLength(sent);
  },
);

test('sends no request after close in the apiKey function', async () => {
  const { client, seen } = scriptedService(inTurn('success'), {
    apiKey: () => {
      client.close();
      return 'sk_test_late';
    },
  });
  const waits = ['TXN-0', 'TXN-1'].map((reference) => timed(client.waitForFinalStatus(reference)));
  const ends = await settled(Promise.all(waits), MINUTE);
  expect(ends).toMatchObject(Array(2).fill({ error: { code: 'closed' } }));
  expect(seen).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});

test('ends the other waits of a signal that is aborted in a wait event', async () => {
  const abort = new AbortController();
  const { client } = meddling(inTurn('pending'), 'wait', () => abort.abort());
  const { signal } = abort;
  const waits = [1_000, 5_000, 9_000].map((timeout, index) =>
    timed(client.waitForFinalStatus(`TXN-${index}`, { signal, timeout })),
  );
  const ends = await settled(Promise.all(waits), MINUTE);
  expect(ends.map(({ at }) => at)).toEqual([1_000, 1_000, 1_000]);
  expect(vi.getTimerCount()).toBe(0);
});

test('does not hang if a wait restarts in its wait event after its deadline', async () => {
  let again = 0;
  const startedAt = Date.now();
  const { client } = scriptedService(inTurn('pending'), {
    onEvent: ({ type }) => {
      if (type !== 'wait' || ++again > 50) return;
      timed(client.waitForFinalStatus(REFERENCE, { startedAt, timeout: SECOND }));
    },
  });
  timed(client.waitForFinalStatus(REFERENCE, { startedAt, timeout: SECOND }));
  await vi.advanceTimersByTimeAsync(SECOND + 10);
  // One for each wake-up of the timer, so that all other work gets its turn in between.
  expect(again).toBeGreaterThan(1);
  expect(again).toBeLessThan(50);
  await settled(Promise.resolve());
  expect(again).toBeGreaterThan(50);
  expect(vi.getTimerCount()).toBe(0);
});

test('makes one extra poll a second if every event calls notify', async () => {
  const { client, seen } = scriptedService(inTurn('pending'), {
    onEvent: () => client.notify(REFERENCE),
    latency: 10,
  });
  timed(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(20 * SECOND);
  expect(seen.length).toBeLessThanOrEqual(22);
  client.close();
});

test('keeps the other waits if onPoll aborts its own signal', async () => {
  const { client } = scriptedService(inTurn('pending', 'success'));
  const aborts = Array.from({ length: 3 }, () => new AbortController());
  const waits = aborts.map((abort, index) =>
    timed(
      client.waitForFinalStatus(REFERENCE, {
        signal: abort.signal,
        onPoll: () => {
          if (index === 1) abort.abort();
        },
      }),
    ),
  );
  const ends = await settled(Promise.all(waits));
  expect(ends.map(({ value }) => value?.status)).toEqual(['success', undefined, 'success']);
});
