import { expect, test, vi } from 'vitest';
import { NotFoundError, WaitTimeoutError } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import {
  jumpClock,
  MINUTE,
  runToEnd,
  SECOND,
  timeSettlement,
  useFakeClock,
} from '../../helpers/fake-clock.ts';
import {
  createResetError,
  createScriptedService,
  respondInTurn,
  type ScriptedResponse,
} from '../../helpers/scripted-service.ts';
import { API_KEY } from '../../helpers/service.ts';

useFakeClock();

const missing = () => new Response('', { status: 404 });
const DAY = 24 * 60 * MINUTE;

/** Creates a service whose response depends on the time, not on the count of requests. */
function createTimedService(say: (time: number) => ScriptedResponse, options = {}) {
  const start = performance.now();
  return createScriptedService(() => say(performance.now() - start), options);
}

test('resolves with success after 404 for eight seconds', async () => {
  const { client, seen } = createTimedService((time) => (time <= 8_000 ? missing() : 'success'));
  expect((await runToEnd(client.waitForFinalStatus(REFERENCE))).status).toBe('success');
  expect(seen.map(({ at }) => at)).toEqual([0, 8_000, 11_000]);
});

test('keeps a wait through repeated 404s from one lagging replica', async () => {
  let poll = 0;
  const { client, seen } = createTimedService((time) => {
    if (time > 5 * MINUTE) return 'success';
    return poll++ % 2 === 0 ? missing() : 'pending';
  });
  expect((await runToEnd(client.waitForFinalStatus(REFERENCE))).status).toBe('success');
  expect(seen.length).toBeGreaterThan(20);
});

test('tolerates ten seconds of 404 after the transaction was seen', async () => {
  const { client } = createTimedService((time) => {
    if (time < MINUTE) return 'pending';
    return time < MINUTE + 8_000 ? missing() : 'success';
  });
  expect((await runToEnd(client.waitForFinalStatus(REFERENCE))).status).toBe('success');
});

test('rejects with NotFoundError if 404 lasts, and reports the last status', async () => {
  const { client } = createTimedService((time) => (time < MINUTE ? 'pending' : missing()));
  const end = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE)));
  expect(end.error).toBeInstanceOf(NotFoundError);
  expect(end.at).toBeLessThan(MINUTE + 30_000);
});

test('resolves with success after every temporary error in turn', async () => {
  const statuses = [408, 425, 429, 500, 501, 502, 503, 504, 599];
  const errors: ScriptedResponse[] = [
    ...statuses.map((status) => new Response('<html>', { status })),
    new Response('{"status":true,"da', { status: 200 }),
    new Response(null, { status: 204 }),
    Response.json([]),
    Response.json({ status: true }),
    Response.json({ status: true, data: { reference: REFERENCE, status: 7 } }),
    createResetError(),
    new TypeError('fetch failed'),
    new Error('no more sockets'),
  ];
  const { client, seen } = createScriptedService(respondInTurn(...errors, 'success'));
  expect((await runToEnd(client.waitForFinalStatus(REFERENCE))).status).toBe('success');
  expect(seen).toHaveLength(errors.length + 1);
});

test.each([400, 401, 402, 403, 405, 409, 410, 418, 422, 451])(
  'ends a wait at once after %d',
  async (status) => {
    const { client, seen } = createScriptedService(respondInTurn('pending', new Response('', { status })));
    const { error } = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE)));
    expect(error).toMatchObject({ status, retryable: false });
    expect(seen).toHaveLength(2);
  },
);

test('ends a wait at once after status: false', async () => {
  const refusal = Response.json({ status: false, message: 'No.' });
  const { client, seen } = createScriptedService(respondInTurn('pending', refusal, 'success'));
  const { error } = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE)));
  expect(error).toMatchObject({ code: 'api_error' });
  expect(seen).toHaveLength(2);
});

test.each([301, 303, 304, 307, 308])(
  'ends a wait at once after %d, which it never follows',
  async (status) => {
    const { client, seen } = createScriptedService(respondInTurn(new Response(null, { status })));
    const { error } = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE)));
    expect(error).toMatchObject({ code: 'unexpected_response', status });
    expect(seen).toHaveLength(1);
  },
);

test('aborts a hanging poll after the request timeout, and keeps the wait', async () => {
  const { client, seen } = createScriptedService(
    (_, count) => (count === 1 ? new Promise(() => {}) : 'success'),
    {
      timeout: 20_000,
    },
  );
  const polls: (string | undefined)[] = [];
  const wait = client.waitForFinalStatus(REFERENCE, { onPoll: ({ error }) => polls.push(error?.code) });
  expect((await runToEnd(wait)).status).toBe('success');
  expect(polls).toEqual(['request_timeout', undefined]);
  expect(seen.map(({ at }) => at)).toEqual([0, 24_025]);
});

test('ignores maxRetries for polls, whose retry is the schedule', async () => {
  const { client, seen } = createScriptedService(
    respondInTurn(createResetError(), createResetError(), 'success'),
    {
      maxRetries: 5,
    },
  );
  await runToEnd(client.waitForFinalStatus(REFERENCE, { maxRetries: 5 }));
  expect(seen.map(({ at }) => at)).toEqual([0, 8_000, 11_000]);
});

test('polls on schedule to the deadline while the status is unrecognised', async () => {
  const usual = createScriptedService(respondInTurn('pending'));
  await runToEnd(timeSettlement(usual.client.waitForFinalStatus(REFERENCE)));
  const { client, seen } = createScriptedService(respondInTurn('on_hold'));
  const { at, error } = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE)));
  expect(at).toBe(10 * MINUTE);
  expect(error).toBeInstanceOf(WaitTimeoutError);
  expect(error).toMatchObject({ lastStatus: 'on_hold', lastTransaction: { raw_status: 'on_hold' } });
  expect(String(error)).toContain('"on_hold"');
  expect(seen.map((poll) => poll.at)).toEqual(usual.seen.map((poll) => poll.at));
});

test('keeps schedule and deadline if the clock is set back', async () => {
  const usual = createScriptedService(respondInTurn('pending'));
  await runToEnd(timeSettlement(usual.client.waitForFinalStatus(REFERENCE, { startedAt: Date.now() })));

  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const startedAt = Date.now();
  const wait = timeSettlement(client.waitForFinalStatus(REFERENCE, { startedAt }));
  const polls: number[] = [];
  timeSettlement(
    client.waitForFinalStatus(REFERENCE, { startedAt, onPoll: ({ elapsed }) => polls.push(elapsed) }),
  );
  for (const change of [-DAY, -MINUTE, -60 * DAY]) {
    await vi.advanceTimersByTimeAsync(MINUTE);
    vi.setSystemTime(Date.now() + change);
  }
  expect(await runToEnd(wait)).toMatchObject({ at: 10 * MINUTE, error: { elapsed: 10 * MINUTE, startedAt } });
  expect(seen.map(({ at }) => at)).toEqual(usual.seen.map(({ at }) => at));
  expect(polls).toEqual(seen.map(({ at }) => at));
});

test('checks once more if the clock is set ahead, as after a sleep', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const wait = timeSettlement(client.waitForFinalStatus(REFERENCE, { minDelay: MINUTE, maxDelay: MINUTE }));
  await vi.advanceTimersByTimeAsync(90 * SECOND);
  vi.setSystemTime(Date.now() + 3 * DAY);
  await vi.advanceTimersByTimeAsync(30 * SECOND);
  const [, , next, ...others] = seen.map(({ at }) => at);
  expect(next).toBeGreaterThan(90 * SECOND);
  expect(next).toBeLessThanOrEqual(100 * SECOND);
  expect(others).toEqual([]);
  expect(await runToEnd(wait)).toMatchObject({ at: 10 * MINUTE, error: { elapsed: 10 * MINUTE } });
});

test('treats a startedAt in the future as now', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const startedAt = Date.now() + MINUTE;
  const wait = timeSettlement(client.waitForFinalStatus(REFERENCE, { startedAt, timeout: 20 * SECOND }));
  expect(await runToEnd(wait)).toMatchObject({ at: 20 * SECOND, error: { elapsed: 20 * SECOND, startedAt } });
  expect(seen[0]?.at).toBe(8_000);
});

test('checks each reference once after the machine slept for an hour', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending'));
  const references = Array.from({ length: 20 }, (_, index) => `TXN-${index}`);
  for (const reference of references) {
    timeSettlement(client.waitForFinalStatus(reference, { timeout: DAY }));
  }
  await vi.advanceTimersByTimeAsync(MINUTE);
  const before = seen.length;
  jumpClock(60 * MINUTE);
  await vi.advanceTimersByTimeAsync(10 * SECOND);
  const after = seen.slice(before).map(({ reference }) => reference);
  expect(after.sort()).toEqual(references.sort());
  expect(after.length).toBe(20);
  await vi.advanceTimersByTimeAsync(15 * SECOND);
  expect(seen.length - before).toBe(40);
  client.close();
});

test('accepts a response in flight after the machine slept over the deadline', async () => {
  const response = Promise.withResolvers<string>();
  const { client, seen } = createScriptedService(() => response.promise);
  const wait = timeSettlement(client.waitForFinalStatus(REFERENCE));
  await vi.advanceTimersByTimeAsync(SECOND);
  jumpClock(60 * MINUTE);
  response.resolve('success');
  expect((await runToEnd(wait)).value?.status).toBe('success');
  expect(seen).toHaveLength(1);
});

test('treats a temporary failure of apiKey as a temporary error', async () => {
  let calls = 0;
  const { client, seen } = createScriptedService(respondInTurn('success'), {
    apiKey: () => {
      if (++calls < 4) throw new Error('the vault is sealed');
      return API_KEY;
    },
  });
  const polls: (string | undefined)[] = [];
  const wait = client.waitForFinalStatus(REFERENCE, { onPoll: ({ error }) => polls.push(error?.code) });
  expect((await runToEnd(wait)).status).toBe('success');
  expect(polls).toEqual(Array(3).fill('configuration_error').concat(undefined));
  expect(seen).toHaveLength(1);
});

test('ends a wait at once if apiKey returns a malformed key', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'), { apiKey: () => 'sk test\n' });
  const { error } = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE)));
  expect(error).toMatchObject({ code: 'configuration_error', retryable: false });
  expect(seen).toEqual([]);
});

test('ignores errors thrown by onPoll, onEvent and logger', async () => {
  const broken = () => {
    throw new Error('broken');
  };
  const rejecting = () => Promise.reject(new Error('rejected'));
  const { client, seen } = createScriptedService(respondInTurn('pending', createResetError(), 'success'), {
    onEvent: broken,
    logger: { debug: broken, info: rejecting, warn: broken, error: broken },
  });
  const [first, second] = await runToEnd(
    Promise.all([
      client.waitForFinalStatus(REFERENCE, { onPoll: broken }),
      client.waitForFinalStatus(REFERENCE, { onPoll: rejecting }),
    ]),
  );
  expect([first.status, second.status]).toEqual(['success', 'success']);
  expect(seen).toHaveLength(3);
  expect(vi.getTimerCount()).toBe(0);
});

test('reports the last error and no status after errors alone', async () => {
  const { client } = createScriptedService(respondInTurn(createResetError()));
  const { error } = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: MINUTE })));
  expect(error).toMatchObject({
    lastStatus: undefined,
    lastTransaction: undefined,
    lastError: { code: 'connection_error' },
    cause: { code: 'connection_error' },
  });
  expect(String(error)).toContain('connection_error');
});

test('reports both the last status and the last error at the deadline', async () => {
  const { client } = createScriptedService(respondInTurn('processing', createResetError()));
  const { error } = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: MINUTE })));
  expect(error).toMatchObject({ lastStatus: 'processing', lastError: { code: 'connection_error' } });
});

test('reports no error at the deadline if the last poll had none', async () => {
  const { client } = createScriptedService(respondInTurn(createResetError(), 'pending'));
  const { error } = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: MINUTE })));
  expect(error).toMatchObject({ lastStatus: 'pending', lastError: undefined });
  expect(error).not.toHaveProperty('cause');
});
