import { expect, test, vi } from 'vitest';
import type { PaymentsClient, PaymentsEvent, Transaction } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { MINUTE, SECOND, settled, timed, useFakeClock } from '../../helpers/fake-clock.ts';
import { inTurn, type Said, scriptedService } from '../../helpers/scripted-service.ts';

useFakeClock();

// A caller who is told of something may do anything there and then: begin, end, hint, close.

type Result = { at: number; value: Transaction | undefined; error: unknown };

/** A service whose client does something of its own in the middle of the first event of a kind. */
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
  'a wait on the same reference that begins in a %s event is polled for and ends',
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

test('a wait that begins in onPoll of the final poll is polled for and ends', async () => {
  const { client } = scriptedService(inTurn('success'));
  const again: Promise<Result>[] = [];
  const onPoll = () => void again.push(timed(client.waitForFinalStatus(REFERENCE)));
  await settled(client.waitForFinalStatus(REFERENCE, { onPoll }), MINUTE);
  expect((await settled(Promise.all(again), MINUTE))[0]?.value?.status).toBe('success');
});

test('onPoll of one that begins in onPoll of another begins with its own first poll', async () => {
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
  'close in a %s event ends every wait, and nothing is left',
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
    const asked = seen.length;
    await vi.advanceTimersByTimeAsync(10 * MINUTE);
    expect(seen).toHaveLength(asked);
  },
);

test('close in the apiKey function, on the way to a request, lets no request leave', async () => {
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

test('an abort in the event of another wait that it ended ends the rest', async () => {
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

test('a wait begun again in the event of its own end, with the deadline that has passed, does not hang the process', async () => {
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
  // One for each ring of the alarm, so that everything else has its turn between two.
  expect(again).toBeGreaterThan(1);
  expect(again).toBeLessThan(50);
  await settled(Promise.resolve());
  expect(again).toBeGreaterThan(50);
  expect(vi.getTimerCount()).toBe(0);
});

test('a hint in every event costs no more than one extra poll a second', async () => {
  const { client, seen } = scriptedService(inTurn('pending'), {
    onEvent: () => client.notify(REFERENCE),
    latency: 10,
  });
  timed(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(20 * SECOND);
  expect(seen.length).toBeLessThanOrEqual(22);
  client.close();
});

test('a wait that ends in onPoll with a signal of its own leaves the others alone', async () => {
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
