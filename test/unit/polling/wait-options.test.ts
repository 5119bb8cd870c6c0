import { inspect } from 'node:util';
import { expect, test, vi } from 'vitest';
import { verify } from '../../../src/api/operations.ts';
import { PaymentsClient, type Transaction } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { runToEnd, SECOND, timeSettlement, useFakeClock } from '../../helpers/fake-clock.ts';
import { createScriptedService, respondInTurn } from '../../helpers/scripted-service.ts';
import { API_KEY, catchError } from '../../helpers/service.ts';

useFakeClock();

const wait = (client: PaymentsClient, options: object): Promise<Transaction> =>
  client.waitForFinalStatus(REFERENCE, options);

const refusal = { code: 'configuration_error' };

test.each([null, false, '', 0, true, 'x-shop: accra', []])(
  'rejects headers of %j at the call, and keeps another wait',
  async (headers) => {
    const { client, seen } = createScriptedService(respondInTurn('pending', 'success'));
    const other = timeSettlement(client.waitForFinalStatus('TXN-other'));
    expect(await catchError(wait(client, { headers }))).toMatchObject(refusal);
    expect(await runToEnd(other)).toMatchObject({ at: 8 * SECOND, value: { status: 'success' } });
    expect(seen).toHaveLength(2);
  },
);

const notDurations = ['3000', 3_000n, Symbol('3 s'), new Date(3_000), [3_000], { valueOf: () => 3_000 }];
const wrong: [name: string, value: unknown][] = [
  ...['minDelay', 'maxDelay', 'initialDelay'].flatMap((name) =>
    notDurations.map((value): [string, unknown] => [name, value]),
  ),
  ...[0, -1, Number.NaN, '5000'].map((value): [string, unknown] => ['timeout', value]),
  ['finalStatuses', ['success', 'unrecognised']],
  ['finalStatuses', ['success', 'faild']],
  ['finalStatuses', ['success', undefined]],
  ['finalStatuses', ['failed']],
  ['finalStatuses', 'success'],
];

test.each(wrong)('rejects a %s of %o, for a wait and for a client', async (name, value) => {
  const { client, seen } = createScriptedService(respondInTurn('success'));
  expect(await catchError(wait(client, { [name]: value }))).toMatchObject(refusal);
  expect(seen).toEqual([]);
  const polling: object = { [name]: value };
  const made = () => new PaymentsClient({ apiKey: API_KEY, baseUrl: 'https://payments.example', polling });
  expect(made).toThrow(expect.objectContaining(refusal));
});

test.each(['maxConcurrency', 'maxRequestsPerSecond'])('rejects a %s that is not a number', (name) => {
  for (const value of ['50', 50n, Symbol('50'), new Date(50), [50], null]) {
    const polling: object = { [name]: value };
    const made = () => new PaymentsClient({ apiKey: API_KEY, baseUrl: 'https://payments.example', polling });
    expect(made, inspect(value)).toThrow(expect.objectContaining(refusal));
  }
});

test.each([
  Number.POSITIVE_INFINITY,
  Number.NaN,
  1_700_000_000,
  '1700000000000',
  new Date(),
  1_700_000_000_000n,
])('rejects a startedAt of %s: it must be milliseconds since 1970', async (startedAt) => {
  const { client } = createScriptedService(respondInTurn('success'));
  expect(await catchError(wait(client, { startedAt }))).toMatchObject(refusal);
});

test.each([
  ['with startedAt', 1_000, [1_000, 5_000, 9_000]],
  ['without startedAt', undefined, [0, 4_000, 8_000]],
])('keeps an initialDelay below minDelay, and minDelay after it, %s', async (_, given, times) => {
  const { client, seen } = createScriptedService(respondInTurn('pending', 'pending', 'success'));
  const delays = { initialDelay: 1_000, minDelay: 4_000, maxDelay: 4_000 };
  await runToEnd(wait(client, given === undefined ? delays : { ...delays, startedAt: Date.now() }));
  expect(seen.map(({ at }) => at)).toEqual(times);
});

test('rejects an onPoll that is no function', async () => {
  const { client, seen } = createScriptedService(respondInTurn('success'));
  expect(await catchError(wait(client, { onPoll: 'log' }))).toMatchObject(refusal);
  expect(seen).toEqual([]);
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

test('validates a reference once for each wait, not at each poll', async () => {
  const validate = vi.spyOn(verify.input, 'safeParse');
  const { client, seen } = createScriptedService(respondInTurn('pending', 'pending', 'pending', 'success'));
  const headers = { 'X-Shop': 'accra' };
  await runToEnd(client.waitForFinalStatus(REFERENCE, { headers }));
  expect(seen.map((request) => request.headers.get('x-shop'))).toEqual(Array(4).fill('accra'));
  expect(validate).toHaveBeenCalledTimes(1);
  validate.mockRestore();
});
