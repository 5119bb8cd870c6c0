import { expect, test, vi } from 'vitest';
import type { PaymentsEvent, Poll, PollEvent, WaitEvent } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { MINUTE, runToEnd, SECOND, timeSettlement, useFakeClock } from '../../helpers/fake-clock.ts';
import {
  createResetError,
  createScriptedService,
  respondInTurn,
  type ScriptedResponse,
} from '../../helpers/scripted-service.ts';
import { API_KEY, EMAIL } from '../../helpers/service.ts';

useFakeClock();

function createListeningClient(
  say: (reference: string, count: number) => ScriptedResponse | Promise<ScriptedResponse>,
  options = {},
) {
  const events: PaymentsEvent[] = [];
  const lines: string[] = [];
  const line = (text: string) => lines.push(text);
  const service = createScriptedService(say, {
    onEvent: (event) => events.push(event),
    logger: { debug: line, info: line, warn: line, error: line },
    ...options,
  });
  return {
    ...service,
    lines,
    polls: () => events.filter((event): event is PollEvent => event.type === 'poll'),
    ends: () => events.filter((event): event is WaitEvent => event.type === 'wait'),
  };
}

test('reports attempt, time, result and next delay in onPoll and in poll events', async () => {
  const script = respondInTurn('pending', createResetError(), 'on_hold', 'success');
  const { client, polls: events } = createListeningClient(script, { latency: 250 });
  const polls: Poll[] = [];
  await runToEnd(client.waitForFinalStatus(REFERENCE, { onPoll: (poll) => polls.push(poll) }));
  const seen = (status: string) => ({ transaction: expect.objectContaining({ status }), error: undefined });
  const error = expect.objectContaining({ code: 'connection_error' });
  const expected: [object, object, elapsed: number, delay: number | null][] = [
    [seen('pending'), { status: 'pending' }, 250, 7_750],
    [{ transaction: undefined, error }, { error: 'connection_error' }, 8_250, 3_000],
    [seen('unrecognised'), { status: 'on_hold' }, 11_500, 3_053],
    [seen('success'), { status: 'success' }, 14_803, null],
  ];
  expect(polls).toEqual(
    expected.map(([result, , elapsed, nextDelay], index) => ({
      ...{ reference: REFERENCE, attempt: index + 1, elapsed, nextDelay },
      ...result,
    })),
  );
  expect(events()).toEqual(
    expected.map(([, result, , delay], index) => ({
      ...{ type: 'poll', reference: REFERENCE, attempt: index + 1, lag: 0, delay },
      ...result,
    })),
  );
});

test('sets nextDelay to null for the shared wait whose deadline comes first', async () => {
  const { client } = createScriptedService(respondInTurn('pending'));
  const near: (number | null)[] = [];
  const far: (number | null)[] = [];
  const push = (list: (number | null)[]) => (poll: Poll) => list.push(poll.nextDelay);
  timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: 12_000, onPoll: push(near) }));
  timeSettlement(client.waitForFinalStatus(REFERENCE, { onPoll: push(far) }));
  await vi.advanceTimersByTimeAsync(12_000);
  expect(near).toEqual([8_000, 3_500, null]);
  expect(far.every((delay) => delay !== null)).toBe(true);
  client.close();
});

test('counts elapsed from startedAt, and attempts from the start of the wait', async () => {
  const { client } = createScriptedService(respondInTurn('pending'));
  const polls: [number, number][] = [];
  timeSettlement(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(6_000);
  const startedAt = Date.now() - MINUTE;
  const onPoll = ({ attempt, elapsed }: Poll) => polls.push([attempt, elapsed]);
  timeSettlement(client.waitForFinalStatus(REFERENCE, { startedAt, onPoll }));
  await vi.advanceTimersByTimeAsync(6_000);
  expect(polls).toEqual([
    [1, MINUTE + 2_000],
    [2, MINUTE + 5_000],
  ]);
  client.close();
});

test.each<[WaitEvent['result'], ScriptedResponse, Partial<WaitEvent>]>([
  ['final', 'failed', { status: 'failed', attempts: 1, elapsed: 0 }],
  ['timeout', 'pending', { status: 'pending', attempts: 13, elapsed: MINUTE }],
  ['failed', new Response('', { status: 401 }), { attempts: 1, elapsed: 0 }],
])('reports in a wait event that the wait ended: %s', async (result, response, facts) => {
  const { client, ends } = createListeningClient(respondInTurn(response));
  await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: MINUTE })));
  expect(ends()).toEqual([{ type: 'wait', reference: REFERENCE, result, ...facts }]);
});

test.each(['aborted', 'closed'] as const)('reports in a wait event that the wait was %s', async (result) => {
  const { client, ends } = createListeningClient(respondInTurn('pending'));
  const abort = new AbortController();
  const wait = timeSettlement(client.waitForFinalStatus(REFERENCE, { signal: abort.signal }));
  await vi.advanceTimersByTimeAsync(SECOND);
  if (result === 'aborted') abort.abort();
  else client.close();
  await wait;
  expect(ends()).toEqual([
    { type: 'wait', reference: REFERENCE, result, status: 'pending', attempts: 1, elapsed: SECOND },
  ]);
});

test.each([
  ['info', 'success', 'final'],
  ['warn', 'pending', 'timeout'],
] as const)('logs with %s that a wait ended: %s', async (level, status, result) => {
  const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
  const { client } = createListeningClient(respondInTurn(status), { logger });
  await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: MINUTE })));
  expect(logger[level]).toHaveBeenCalledExactlyOnceWith(expect.stringContaining(`, ${result} after `));
});

test('shows neither the API key nor an email address in events and log lines', async () => {
  const { client, lines, polls, ends } = createListeningClient(
    respondInTurn('pending', createResetError(), 'success'),
  );
  await runToEnd(client.waitForFinalStatus(REFERENCE));
  const printed = JSON.stringify([lines, polls(), ends()]);
  expect(lines.some((line) => line.includes(`wait ${REFERENCE}, poll 1: pending, next in 8000 ms`))).toBe(
    true,
  );
  expect(lines.some((line) => line.includes('final after 11000 ms and 3 polls: success'))).toBe(true);
  expect(printed).not.toContain(API_KEY);
  expect(printed).not.toContain(EMAIL);
});
