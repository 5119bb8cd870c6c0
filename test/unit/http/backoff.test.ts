import { expect, onTestFinished, test, vi } from 'vitest';
import type { PaymentsEvent } from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { skipRetryDelays } from '../../helpers/retry-delays.ts';
import { catchError, charge, respondFirst, startService } from '../../helpers/service.ts';

const startBusy = (status: number, headers: () => Record<string, string> = () => ({})) =>
  startService(respondFirst(status, {}, headers()));

/** The delay that the first retry of a verify announces; the call is then aborted. */
async function announcedDelay(service: Awaited<ReturnType<typeof startBusy>>): Promise<number> {
  const abort = new AbortController();
  let delay = Number.NaN;
  const onEvent = (event: PaymentsEvent) => {
    if (event.type !== 'retry') return;
    delay = event.delay;
    abort.abort();
  };
  await catchError(service.client({ maxRetries: 1, onEvent }).verify(REFERENCE, { signal: abort.signal }));
  return delay;
}

test.each([
  [0, [0, 0, 0, 0, 0, 0]],
  [0.5, [250, 500, 1000, 2000, 4000, 4000]],
  [1 - 2 ** -53, [500, 1000, 2000, 4000, 8000, 8000]],
])('doubles the backoff up to a cap, with full jitter: at random %d', async (random, expected) => {
  vi.spyOn(Math, 'random').mockReturnValue(random);
  const { delays, onEvent } = skipRetryDelays();
  const service = await startService(503);
  await catchError(service.client({ maxRetries: 6, onEvent }).verify(REFERENCE));
  expect(delays).toEqual(expected);
});

test.each([429, 503, 500, 408])(
  'Retry-After in seconds is honoured after %i, with jitter on top',
  async (status) => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    const service = await startBusy(status, () => ({ 'retry-after': '2' }));
    expect(await announcedDelay(service)).toBe(2_250);
  },
);

test('waits for a Retry-After that is a date', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 10, 21, 10, 15, 0) });
  onTestFinished(() => void vi.useRealTimers());
  const service = await startBusy(429, () => ({ 'retry-after': 'Sat, 21 Nov 2026 10:15:07 GMT' }));
  expect(await announcedDelay(service)).toBe(7_000);
});

test.each([
  ['absent', {}],
  ['empty', { 'retry-after': '' }],
  ['zero', { 'retry-after': '0' }],
  ['negative', { 'retry-after': '-5' }],
  ['a fraction', { 'retry-after': '2.5' }],
  ['an exponent', { 'retry-after': '1e3' }],
  ['hexadecimal', { 'retry-after': '0x10' }],
  ['Infinity', { 'retry-after': 'Infinity' }],
  ['a word', { 'retry-after': 'soon' }],
  ['a date that has passed', { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }],
  ['a date that does not exist', { 'retry-after': 'Sat, 41 Nov 2026 10:15:07 GMT' }],
])('ignores a Retry-After that is %s', async (_what, headers) => {
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  expect(await announcedDelay(await startBusy(429, () => headers))).toBe(250);
});

test('waits for a Retry-After of 30 seconds', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  expect(await announcedDelay(await startBusy(429, () => ({ 'retry-after': '30' })))).toBe(30_000);
});

test.each([
  ['31', 31_000],
  ['3600', 3_600_000],
  ['9'.repeat(30), 2 ** 31 - 1],
  ['Fri, 31 Dec 9999 23:59:59 GMT', 2 ** 31 - 1],
])('ends the call at once after a Retry-After over 30 seconds: %s', async (header, retryAfter) => {
  const service = await startService(429, {}, { 'retry-after': header });
  const abort = new AbortController();
  // A pause would last longer than the test.
  const onEvent = ({ type }: PaymentsEvent) => type === 'retry' && abort.abort();
  const client = service.client({ maxRetries: 5, onEvent });
  const { signal } = abort;
  for (const call of [client.verify(REFERENCE, { signal }), client.chargeMobileMoney(charge, { signal })]) {
    expect(await catchError(call)).toMatchObject({ name: 'RateLimitError', retryAfter, retryable: true });
  }
  expect(service.requests).toHaveLength(2);
});

test('retries exactly when the delay has passed under fake timers', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  const service = await startBusy(429, () => ({ 'retry-after': '10' }));
  const announced = Promise.withResolvers<number>();
  const sent = vi.fn();
  const onEvent = (event: PaymentsEvent) => {
    if (event.type === 'request') sent();
    if (event.type === 'retry') announced.resolve(event.delay);
  };
  const call = service.client({ maxRetries: 1, onEvent }).verify(REFERENCE);
  expect(await announced.promise).toBe(10_250);
  await vi.advanceTimersByTimeAsync(10_249);
  expect(sent).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(await call).toMatchObject({ status: 'success' });
  expect(service.requests).toHaveLength(2);
});
