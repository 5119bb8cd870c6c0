import { ModernFakeTimers } from '@jest/fake-timers';
import { afterEach, expect, test, vi } from 'vitest';
import { WaitTimeoutError } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';
import { catchError } from '../../helpers/service.ts';

afterEach(() => {
  vi.useRealTimers();
});

test('reaches a deadline of ten minutes under the fake timers of vitest', async () => {
  vi.useFakeTimers();
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const failure = catchError(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(600_000);
  expect(await failure).toBeInstanceOf(WaitTimeoutError);
  expect(await failure).toMatchObject({ elapsed: 600_000 });
  expect(seen.length).toBeGreaterThan(45);
});

/** The object `jest` of a test file under Jest. */
function jestTimers() {
  const config: object = { fakeTimers: { enableGlobally: false } };
  return new ModernFakeTimers({ global: globalThis, config: config as never });
}

test('reaches a deadline of ten minutes under the fake timers of Jest', async () => {
  const jest = jestTimers();
  // Node's own fetch reads a body with queueMicrotask, which Jest would fake.
  jest.useFakeTimers({ doNotFake: ['queueMicrotask'] });
  try {
    const { client, seen } = createScriptedService(respondInTurn('pending'));
    const failure = catchError(client.waitForFinalStatus(REFERENCE));
    await jest.advanceTimersByTimeAsync(600_000);
    expect(await failure).toMatchObject({ code: 'wait_timeout', elapsed: 600_000, lastStatus: 'pending' });
    expect(seen.length).toBeGreaterThan(45);
  } finally {
    jest.useRealTimers();
  }
});

test('reaches its deadline under all fakes of Jest', async () => {
  const jest = jestTimers();
  jest.useFakeTimers();
  try {
    const { client } = createScriptedService(respondInTurn('pending'));
    const failure = catchError(client.waitForFinalStatus(REFERENCE));
    await jest.advanceTimersByTimeAsync(600_000);
    expect(await failure).toMatchObject({ code: 'wait_timeout', elapsed: 600_000 });
  } finally {
    jest.useRealTimers();
  }
});

test('reaches its deadline if fake timers advance one by one', async () => {
  vi.useFakeTimers();
  const { client } = createScriptedService(respondInTurn('pending', 'pending', 'processing', 'success'));
  let status: string | undefined;
  const wait = client.waitForFinalStatus(REFERENCE).then((transaction) => {
    status = transaction.status;
  });
  for (let count = 0; count < 20 && !status; count++) await vi.advanceTimersToNextTimerAsync();
  await wait;
  expect(status).toBe('success');
});

test('works if fake timers start and end during the life of the client', async () => {
  const { client } = createScriptedService(respondInTurn('pending', 'success', 'success'));
  vi.useFakeTimers();
  const wait = client.waitForFinalStatus(REFERENCE);
  await vi.advanceTimersByTimeAsync(9_000);
  expect((await wait).status).toBe('success');
  vi.useRealTimers();
  expect((await client.waitForFinalStatus(REFERENCE)).status).toBe('success');
});

test('polls on time after fake timers set the clock back', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'));
  const limited = { polling: { maxRequestsPerSecond: 1 } };
  const slow = createScriptedService(respondInTurn('success'), limited);
  await client.waitForFinalStatus(REFERENCE);
  await slow.client.waitForFinalStatus(REFERENCE);
  vi.useFakeTimers();
  const waits = [client.waitForFinalStatus(REFERENCE), slow.client.waitForFinalStatus(REFERENCE)];
  await vi.advanceTimersByTimeAsync(1_010);
  await Promise.all(waits);
  expect([seen.length, slow.seen.length]).toEqual([2, 2]);
});

test('measures the duration of a request after the clock is set back', async () => {
  const { client } = createScriptedService(respondInTurn('success'), { latency: 50 });
  await client.waitForFinalStatus(REFERENCE);
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() - 1_000_000);
  const elapsed: number[] = [];
  const onPoll = (poll: { elapsed: number }) => elapsed.push(poll.elapsed);
  for (let count = 0; count < 3; count++) await client.waitForFinalStatus(REFERENCE, { onPoll });
  expect(Math.min(...elapsed)).toBeGreaterThanOrEqual(40);
});
