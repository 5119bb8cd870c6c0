import { mock as nodeMock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { ModernFakeTimers } from '@jest/fake-timers';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import type { PaymentsClient } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';

afterEach(() => {
  vi.useRealTimers();
});

const MINUTE = 60_000;

const schedule = { initialDelay: 5_000, minDelay: 5_000, maxDelay: 5_000 };

/**
 * What a fake leaves real stands still: a test takes no real time, however slow the machine is. With the real clocks a pause of
 * the machine of a few seconds would count as time that passed, and the client would not see that its timers are fake.
 */
function stopRealClocks(): void {
  vi.spyOn(performance, 'now').mockReturnValue(performance.now());
  vi.spyOn(Date, 'now').mockReturnValue(Date.now());
}

/** Starts a wait, and says whether it is over. A test asks that before it awaits the end, which nothing might bring any more. */
function startWait(client: PaymentsClient) {
  const wait = {
    isOver: false,
    ended: client.waitForFinalStatus(REFERENCE).catch((error: unknown) => error),
  };
  wait.ended.finally(() => {
    wait.isOver = true;
  });
  return wait;
}

/** Each leaves `performance` real and returns a function that advances the time. */
const fakes: Record<string, () => (time: number) => Promise<unknown>> = {
  'setTimeout of node:test': () => nodeTimers(['setTimeout']),
  'setTimeout and Date of node:test': () => nodeTimers(['setTimeout', 'Date']),
  'setTimeout of Vitest': () => vitestTimers(['setTimeout', 'clearTimeout']),
  'setTimeout and Date of Vitest': () => vitestTimers(['setTimeout', 'clearTimeout', 'Date']),
  'all but performance of Jest': () => {
    const jest = fakeByJest([...needed, 'performance']);
    return (time) => jest.advanceTimersByTimeAsync(time);
  },
};

/**
 * What Node's own fetch and the tests need. Node hands the messages of another process on by `process.nextTick`: one that comes while
 * that is fake is lost, and the test runner waits for ever.
 */
const needed = ['queueMicrotask', 'setImmediate', 'nextTick'] as const;

/** Returns the object `jest` of a test file under Jest, with fake timers. */
function fakeByJest(doNotFake: ('queueMicrotask' | 'setImmediate' | 'nextTick' | 'performance')[]) {
  const config: object = { fakeTimers: { enableGlobally: false } };
  const jest = new ModernFakeTimers({ global: globalThis, config: config as never });
  jest.useFakeTimers({ doNotFake });
  onTestFinished(() => jest.useRealTimers());
  return jest;
}

/** `tick` runs timers only: the promises that they resolve need a turn of the event loop. */
function nodeTimers(apis: ('setTimeout' | 'Date')[]) {
  nodeMock.timers.enable({ apis });
  onTestFinished(() => nodeMock.timers.reset());
  return async (time: number) => {
    for (let passed = 0; passed < time; passed += 100) {
      nodeMock.timers.tick(100);
      await turn();
    }
  };
}

function vitestTimers(toFake: ('setTimeout' | 'clearTimeout' | 'Date')[]) {
  vi.useFakeTimers({ toFake });
  return (time: number) => vi.advanceTimersByTimeAsync(time);
}

/** Each leaves `performance` real, and fakes `Date` too. It returns a function that advances the time in one step. */
const steps: [name: string, use: () => (time: number) => unknown][] = [
  [
    'tick of node:test',
    () => {
      nodeMock.timers.enable({ apis: ['setTimeout', 'Date'] });
      onTestFinished(() => nodeMock.timers.reset());
      return (time) => nodeMock.timers.tick(time);
    },
  ],
  ['advanceTimersByTime of Vitest', () => fromVitest((time) => vi.advanceTimersByTime(time))],
  ['advanceTimersByTimeAsync of Vitest', () => fromVitest((time) => vi.advanceTimersByTimeAsync(time))],
  ['advanceTimersByTime of Jest', () => fromJest((jest, time) => jest.advanceTimersByTime(time))],
  ['advanceTimersByTimeAsync of Jest', () => fromJest((jest, time) => jest.advanceTimersByTimeAsync(time))],
];

function fromVitest(advance: (time: number) => unknown) {
  vitestTimers(['setTimeout', 'clearTimeout', 'Date']);
  return advance;
}

function fromJest(advance: (jest: ModernFakeTimers, time: number) => unknown) {
  const jest = fakeByJest([...needed, 'performance']);
  return (time: number) => advance(jest, time);
}

/** By the length of one step. What a step is too coarse for is on the page about testing. */
const table = steps.flatMap(([name, use]) => [1_000, 10_000, 60_000].map((step) => ({ name, step, use })));

test('reaches a deadline of ten minutes if Jest fakes performance too', async () => {
  const jest = fakeByJest([...needed]);
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const wait = startWait(client);
  await jest.advanceTimersByTimeAsync(600_000);
  expect(wait.isOver).toBe(true);
  expect(await wait.ended).toMatchObject({ code: 'wait_timeout', elapsed: 600_000, lastStatus: 'pending' });
  expect(seen.length).toBeGreaterThan(45);
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

test.each(Object.entries(fakes))('ends a wait at its deadline under %s', async (_, use) => {
  stopRealClocks();
  const pass = use();
  const { client, seen } = createScriptedService(respondInTurn('pending'), { polling: schedule });
  const wait = startWait(client);
  await pass(10 * MINUTE - 10_000);
  expect(wait.isOver).toBe(false);
  // Between two timers the client does not see the time that passes: allow a few seconds more.
  await pass(MINUTE);
  expect(wait.isOver).toBe(true);
  expect(await wait.ended).toMatchObject({ code: 'wait_timeout', lastStatus: 'pending' });
  expect(seen.length).toBeGreaterThan(110);
  expect(seen.length).toBeLessThan(125);
});

test.each(table)('checks, and ends at its deadline, in steps of $step ms by $name', async ({ step, use }) => {
  stopRealClocks();
  const advance = use();
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const wait = startWait(client);
  let passed = 0;
  for (; !wait.isOver && passed < 20 * MINUTE; passed += step) {
    await advance(step);
    await turn();
    await turn();
  }
  expect(wait.isOver).toBe(true);
  expect(await wait.ended).toMatchObject({ code: 'wait_timeout', lastStatus: 'pending' });
  expect(passed).toBeGreaterThanOrEqual(10 * MINUTE - 1_000);
  expect(passed).toBeLessThanOrEqual(10 * MINUTE + 2 * step);
  expect(seen.length).toBeGreaterThanOrEqual((10 * MINUTE) / (15_000 + step) - 1);
  expect(seen.length).toBeLessThanOrEqual(60);
});

test('keeps a wait if only Date or only performance is fake', async () => {
  for (const toFake of [['Date'], ['performance']] as const) {
    vi.useFakeTimers({ toFake: [...toFake] });
    const { client } = createScriptedService(respondInTurn('pending', 'success'));
    const short = { initialDelay: 1, minDelay: 20, maxDelay: 20 };
    expect(await client.waitForFinalStatus(REFERENCE, short)).toMatchObject({ status: 'success' });
    vi.useRealTimers();
  }
});
