import { inspect } from 'node:util';
import { expect, test, vi } from 'vitest';
import { PaymentsClient, type Transaction, WaitTimeoutError } from '../../../src/index.ts';
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

const wait = (client: PaymentsClient, options: object): Promise<Transaction> =>
  client.waitForFinalStatus(REFERENCE, options);

const refusal = { code: 'configuration_error' };

const missing = () => new Response('', { status: 404 });

const DAY = 24 * 60 * MINUTE;

/** Creates a service whose response depends on the time, not on the count of requests. */
function createTimedService(say: (time: number) => ScriptedResponse, options = {}) {
  const start = performance.now();
  return createScriptedService(() => say(performance.now() - start), options);
}

test('makes the first check eight seconds after startedAt', async () => {
  const { client, seen } = createScriptedService(respondInTurn('pending', 'success'));
  await runToEnd(client.waitForFinalStatus(REFERENCE, { startedAt: Date.now() - 2_000 }));
  expect(seen.map(({ at }) => at)).toEqual([6_000, 9_000]);
});

test('ignores later changes to a list of finalStatuses', async () => {
  const finalStatuses: ('success' | 'failed' | 'pending')[] = ['success', 'failed'];
  const { client } = createScriptedService(respondInTurn('pending', 'success'), {
    polling: { finalStatuses },
  });
  const waits = [wait(client, {}), wait(client, { finalStatuses })];
  finalStatuses.push('pending');
  waits.push(wait(client, {}));
  const statuses = (await runToEnd(Promise.all(waits))).map(({ status }) => status);
  expect(statuses).toEqual(['success', 'success', 'success']);
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

test('keeps a wait through two 404s with other errors between them', async () => {
  const { client } = createTimedService((time) => {
    if (time > MINUTE) return 'success';
    return time > 10 * SECOND && time < 50 * SECOND ? new Response('', { status: 503 }) : missing();
  });
  expect((await runToEnd(client.waitForFinalStatus(REFERENCE))).status).toBe('success');
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

const invalid: [name: string, values: unknown[]][] = [
  ...['minDelay', 'maxDelay', 'initialDelay'].map((name): [string, unknown[]] => [
    name,
    ['3000', 3_000n, Symbol('3 s'), new Date(3_000), [3_000], { valueOf: () => 3_000 }],
  ]),
  ['timeout', [0, -1, Number.NaN, '5000']],
  [
    'finalStatuses',
    [['success', 'unrecognised'], ['success', 'faild'], ['success', undefined], ['failed'], 'success'],
  ],
];
const invalidForClient: typeof invalid = [
  ...invalid,
  ...['maxConcurrency', 'maxRequestsPerSecond'].map((name): [string, unknown[]] => [
    name,
    ['50', 50n, Symbol('50'), new Date(50), [50], null],
  ]),
];

test.each(invalidForClient)('rejects a client with an invalid %s', (name, values) => {
  for (const value of values) {
    const polling: object = { [name]: value };
    const create = () =>
      new PaymentsClient({ apiKey: API_KEY, baseUrl: 'https://payments.example', polling });
    expect(create, inspect(value)).toThrow(expect.objectContaining(refusal));
  }
});

test.each([
  ...[400, 401, 402, 403, 405, 409, 410, 418, 422, 451].map((status) => [status, '', { status }] as const),
  ...[301, 303, 304, 307, 308].map(
    (status) => [status, '', { code: 'unexpected_response', status }] as const,
  ),
  [200, '{"status":false,"message":"No."}', { code: 'api_error' }] as const,
])('ends a wait at once after %d %s', async (status, body, expected) => {
  const response = new Response(status === 304 ? null : body, { status });
  const { client, seen } = createScriptedService(respondInTurn('pending', response, 'success'));
  const { error } = await runToEnd(timeSettlement(client.waitForFinalStatus(REFERENCE)));
  expect(error).toMatchObject({ ...expected, retryable: false });
  expect(seen).toHaveLength(2);
});

test.each<[string, ScriptedResponse[], object, text: string]>([
  [
    'an error alone',
    [createResetError()],
    {
      lastStatus: undefined,
      lastTransaction: undefined,
      lastError: { code: 'connection_error' },
      attempts: 13,
    },
    'connection_error',
  ],
  [
    'a status and an error',
    ['processing', createResetError()],
    { lastStatus: 'processing', lastError: { code: 'connection_error' } },
    '"processing"',
  ],
  [
    'a status after an error',
    [createResetError(), 'pending'],
    { lastStatus: 'pending', lastError: undefined },
    '"pending"',
  ],
  [
    'an unrecognised status',
    ['on_hold'],
    { lastStatus: 'on_hold', lastTransaction: { raw_status: 'on_hold' }, attempts: 13 },
    '"on_hold"',
  ],
])('polls on schedule to its deadline, and reports %s', async (_, list, expected, text) => {
  const { client } = createScriptedService(respondInTurn(...list));
  const { at, error } = await runToEnd(
    timeSettlement(client.waitForFinalStatus(REFERENCE, { timeout: MINUTE })),
  );
  expect(at).toBe(MINUTE);
  expect(error).toBeInstanceOf(WaitTimeoutError);
  expect(error).toMatchObject({ elapsed: MINUTE, outcome: null, ...expected });
  expect(String(error)).toContain('do not cancel the order and do not charge again');
  expect(String(error)).toContain(text);
});
