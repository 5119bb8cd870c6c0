import { expect, test, vi } from 'vitest';
import { NotFoundError, WaitTimeoutError } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { clockJumps, MINUTE, SECOND, settled, timed, useFakeClock } from '../../helpers/fake-clock.ts';
import { brokenConnection, inTurn, type Said, scriptedService } from '../../helpers/scripted-service.ts';
import { API_KEY } from '../../helpers/service.ts';

useFakeClock();

const missing = () => new Response('', { status: 404 });
const DAY = 24 * 60 * MINUTE;

/** A service that says by the clock, not by the count. */
function byTheClock(say: (moment: number) => Said, options = {}) {
  const began = performance.now();
  return scriptedService(() => say(performance.now() - began), options);
}

test('404 for eight seconds and then a success is a success', async () => {
  const { client, seen } = byTheClock((moment) => (moment <= 8_000 ? missing() : 'success'));
  expect((await settled(client.waitForFinalStatus(REFERENCE))).status).toBe('success');
  expect(seen.map(({ at }) => at)).toEqual([0, 8_000, 11_000]);
});

test('404 now and then, as from one replica of several, never ends a wait', async () => {
  let poll = 0;
  const { client, seen } = byTheClock((moment) => {
    if (moment > 5 * MINUTE) return 'success';
    return poll++ % 2 === 0 ? missing() : 'pending';
  });
  expect((await settled(client.waitForFinalStatus(REFERENCE))).status).toBe('success');
  expect(seen.length).toBeGreaterThan(20);
});

test('404 after the transaction was seen is waited out for ten seconds too', async () => {
  const { client } = byTheClock((moment) => {
    if (moment < MINUTE) return 'pending';
    return moment < MINUTE + 8_000 ? missing() : 'success';
  });
  expect((await settled(client.waitForFinalStatus(REFERENCE))).status).toBe('success');
});

test('404 that lasts ends a wait with the error of the service, and what was seen last is on the event', async () => {
  const { client } = byTheClock((moment) => (moment < MINUTE ? 'pending' : missing()));
  const end = await settled(timed(client.waitForFinalStatus(REFERENCE)));
  expect(end.error).toBeInstanceOf(NotFoundError);
  expect(end.at).toBeLessThan(MINUTE + 30_000);
});

test('every passing fault there is, one after another, and then a success is a success', async () => {
  const statuses = [408, 425, 429, 500, 501, 502, 503, 504, 599];
  const faults: Said[] = [
    ...statuses.map((status) => new Response('<html>', { status })),
    new Response('{"status":true,"da', { status: 200 }),
    new Response(null, { status: 204 }),
    Response.json([]),
    Response.json({ status: true }),
    Response.json({ status: true, data: { reference: REFERENCE, status: 7 } }),
    brokenConnection(),
    new TypeError('fetch failed'),
    new Error('no more sockets'),
  ];
  const { client, seen } = scriptedService(inTurn(...faults, 'success'));
  expect((await settled(client.waitForFinalStatus(REFERENCE))).status).toBe('success');
  expect(seen).toHaveLength(faults.length + 1);
});

test.each([402, 403, 405, 409, 410, 418, 422, 451])('%d ends a wait at once', async (status) => {
  const { client, seen } = scriptedService(inTurn('pending', new Response('', { status })));
  const { error } = await settled(timed(client.waitForFinalStatus(REFERENCE)));
  expect(error).toMatchObject({ status, retryable: false });
  expect(seen).toHaveLength(2);
});

test.each([301, 303, 304, 307, 308])('a %d, which is never followed, ends a wait at once', async (status) => {
  const { client, seen } = scriptedService(inTurn(new Response(null, { status })));
  const { error } = await settled(timed(client.waitForFinalStatus(REFERENCE)));
  expect(error).toMatchObject({ code: 'unexpected_response', status });
  expect(seen).toHaveLength(1);
});

test('a poll that hangs is given up after the timeout of a request, and the wait goes on', async () => {
  const { client, seen } = scriptedService((_, count) => (count === 1 ? new Promise(() => {}) : 'success'), {
    timeout: 20_000,
  });
  const polls: (string | undefined)[] = [];
  const wait = client.waitForFinalStatus(REFERENCE, { onPoll: ({ error }) => polls.push(error?.code) });
  expect((await settled(wait)).status).toBe('success');
  expect(polls).toEqual(['request_timeout', undefined]);
  expect(seen.map(({ at }) => at)).toEqual([0, 24_025]);
});

test('polls ignore maxRetries: the schedule is their retry', async () => {
  const { client, seen } = scriptedService(inTurn(brokenConnection(), brokenConnection(), 'success'), {
    maxRetries: 5,
  });
  await settled(client.waitForFinalStatus(REFERENCE, { maxRetries: 5 }));
  expect(seen.map(({ at }) => at)).toEqual([0, 8_000, 11_000]);
});

test('an unrecognised status for ever is asked at the normal cadence, to the deadline, and is on the error', async () => {
  const usual = scriptedService(inTurn('pending'));
  await settled(timed(usual.client.waitForFinalStatus(REFERENCE)));
  const { client, seen } = scriptedService(inTurn('on_hold'));
  const { at, error } = await settled(timed(client.waitForFinalStatus(REFERENCE)));
  expect(at).toBe(10 * MINUTE);
  expect(error).toBeInstanceOf(WaitTimeoutError);
  expect(error).toMatchObject({ lastStatus: 'on_hold', lastTransaction: { raw_status: 'on_hold' } });
  expect(String(error)).toContain('"on_hold"');
  expect(seen.map((poll) => poll.at)).toEqual(usual.seen.map((poll) => poll.at));
});

test('a clock that is set back changes neither schedule nor deadline', async () => {
  const usual = scriptedService(inTurn('pending'));
  await settled(timed(usual.client.waitForFinalStatus(REFERENCE, { startedAt: Date.now() })));

  const { client, seen } = scriptedService(inTurn('pending'));
  const startedAt = Date.now();
  const wait = timed(client.waitForFinalStatus(REFERENCE, { startedAt }));
  const polls: number[] = [];
  timed(client.waitForFinalStatus(REFERENCE, { startedAt, onPoll: ({ elapsed }) => polls.push(elapsed) }));
  for (const change of [-DAY, -MINUTE, -60 * DAY]) {
    await vi.advanceTimersByTimeAsync(MINUTE);
    vi.setSystemTime(Date.now() + change);
  }
  expect(await settled(wait)).toMatchObject({ at: 10 * MINUTE, error: { elapsed: 10 * MINUTE, startedAt } });
  expect(seen.map(({ at }) => at)).toEqual(usual.seen.map(({ at }) => at));
  expect(polls).toEqual(seen.map(({ at }) => at));
});

test('asks once more when the clock is set ahead, as after a sleep', async () => {
  const { client, seen } = scriptedService(inTurn('pending'));
  const wait = timed(client.waitForFinalStatus(REFERENCE, { minDelay: MINUTE, maxDelay: MINUTE }));
  await vi.advanceTimersByTimeAsync(90 * SECOND);
  vi.setSystemTime(Date.now() + 3 * DAY);
  await vi.advanceTimersByTimeAsync(30 * SECOND);
  const [, , next, ...others] = seen.map(({ at }) => at);
  expect(next).toBeGreaterThan(90 * SECOND);
  expect(next).toBeLessThanOrEqual(100 * SECOND);
  expect(others).toEqual([]);
  expect(await settled(wait)).toMatchObject({ at: 10 * MINUTE, error: { elapsed: 10 * MINUTE } });
});

test('a startedAt in the future, from a machine whose clock is ahead, counts as now', async () => {
  const { client, seen } = scriptedService(inTurn('pending'));
  const startedAt = Date.now() + MINUTE;
  const wait = timed(client.waitForFinalStatus(REFERENCE, { startedAt, timeout: 20 * SECOND }));
  expect(await settled(wait)).toMatchObject({ at: 20 * SECOND, error: { elapsed: 20 * SECOND, startedAt } });
  expect(seen[0]?.at).toBe(8_000);
});

test('a laptop that slept for an hour asks each reference once when it wakes, not for each poll that it missed', async () => {
  const { client, seen } = scriptedService(inTurn('pending'));
  const references = Array.from({ length: 20 }, (_, index) => `TXN-${index}`);
  for (const reference of references) {
    timed(client.waitForFinalStatus(reference, { timeout: DAY }));
  }
  await vi.advanceTimersByTimeAsync(MINUTE);
  const before = seen.length;
  clockJumps(60 * MINUTE);
  await vi.advanceTimersByTimeAsync(10 * SECOND);
  const after = seen.slice(before).map(({ reference }) => reference);
  expect(after.sort()).toEqual(references.sort());
  expect(after.length).toBe(20);
  await vi.advanceTimersByTimeAsync(15 * SECOND);
  expect(seen.length - before).toBe(40);
  client.close();
});

test('a laptop that slept with a request in flight takes its answer, though the deadline has passed', async () => {
  const answer = Promise.withResolvers<string>();
  const { client, seen } = scriptedService(() => answer.promise);
  const wait = timed(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(SECOND);
  clockJumps(60 * MINUTE);
  answer.resolve('success');
  expect((await settled(wait)).value?.status).toBe('success');
  expect(seen).toHaveLength(1);
});

test('an apiKey function that fails for a while is a passing fault', async () => {
  let calls = 0;
  const { client, seen } = scriptedService(inTurn('success'), {
    apiKey: () => {
      if (++calls < 4) throw new Error('the vault is sealed');
      return API_KEY;
    },
  });
  const polls: (string | undefined)[] = [];
  const wait = client.waitForFinalStatus(REFERENCE, { onPoll: ({ error }) => polls.push(error?.code) });
  expect((await settled(wait)).status).toBe('success');
  expect(polls).toEqual(Array(3).fill('configuration_error').concat(undefined));
  expect(seen).toHaveLength(1);
});

test('an apiKey function that gives a key of a wrong form ends a wait at once', async () => {
  const { client, seen } = scriptedService(inTurn('success'), { apiKey: () => 'sk test\n' });
  const { error } = await settled(timed(client.waitForFinalStatus(REFERENCE)));
  expect(error).toMatchObject({ code: 'configuration_error', retryable: false });
  expect(seen).toEqual([]);
});

test('onPoll, onEvent and logger that throw or reject change nothing', async () => {
  const broken = () => {
    throw new Error('broken');
  };
  const rejecting = () => Promise.reject(new Error('rejected'));
  const { client, seen } = scriptedService(inTurn('pending', brokenConnection(), 'success'), {
    onEvent: broken,
    logger: { debug: broken, info: rejecting, warn: broken, error: broken },
  });
  const [first, second] = await settled(
    Promise.all([
      client.waitForFinalStatus(REFERENCE, { onPoll: broken }),
      client.waitForFinalStatus(REFERENCE, { onPoll: rejecting }),
    ]),
  );
  expect([first.status, second.status]).toEqual(['success', 'success']);
  expect(seen).toHaveLength(3);
  expect(vi.getTimerCount()).toBe(0);
});

test('at the deadline after faults alone, the error names the last of them and no status', async () => {
  const { client } = scriptedService(inTurn(brokenConnection()));
  const { error } = await settled(timed(client.waitForFinalStatus(REFERENCE, { timeout: MINUTE })));
  expect(error).toMatchObject({
    lastStatus: undefined,
    lastTransaction: undefined,
    lastError: { code: 'connection_error' },
    cause: { code: 'connection_error' },
  });
  expect(String(error)).toContain('connection_error');
});

test('at the deadline after a status and then faults, the error has both', async () => {
  const { client } = scriptedService(inTurn('processing', brokenConnection()));
  const { error } = await settled(timed(client.waitForFinalStatus(REFERENCE, { timeout: MINUTE })));
  expect(error).toMatchObject({ lastStatus: 'processing', lastError: { code: 'connection_error' } });
});

test('at the deadline a fault that has passed is not on the error', async () => {
  const { client } = scriptedService(inTurn(brokenConnection(), 'pending'));
  const { error } = await settled(timed(client.waitForFinalStatus(REFERENCE, { timeout: MINUTE })));
  expect(error).toMatchObject({ lastStatus: 'pending', lastError: undefined });
  expect(error).not.toHaveProperty('cause');
});
