import { setTimeout as sleep } from 'node:timers/promises';
import { createWaiter, WaiterState } from '@smithy/util-waiter';
import pWaitFor from 'p-wait-for';
import type { Transaction } from '../../src/api/transaction.ts';
import type { CallResult } from '../../src/http/attempt.ts';
import { PaymentsClient } from '../../src/index.ts';
import { normalizeOptions } from '../../src/options.ts';
import { normalizeWait } from '../../src/polling/normalize-wait.ts';
import { Poller } from '../../src/polling/poller.ts';

/** What all waits of one measurement have in common. */
export interface Setting {
  /** Ends all of them. */
  signal: AbortSignal;
  /** Stands in for one request. All contenders use the same stub, so any difference is their own. */
  check(): Promise<CallResult<Transaction>>;
  /** The pause between two checks of one wait, in milliseconds. */
  getPause(): number;
}

/** A way to wait for many references in one process. */
export type Contender = (setting: Setting) => (reference: string) => Promise<unknown>;

/** How long a wait can last, in milliseconds: nothing that is measured comes near it. */
export const TIMEOUT = 3_600_000;

/** Our public client, for waits whose first check does not come due. */
const ours: Contender = ({ signal, getPause }) => {
  const payments = new PaymentsClient({
    apiKey: 'sk_test_bench',
    baseUrl: 'http://localhost/api/v1',
    fetch: () => Promise.reject(new Error('A check came due in a measurement of pending waits.')),
    polling: { initialDelay: getPause(), timeout: TIMEOUT },
  });
  return (reference) => payments.waitForFinalStatus(reference, { signal, startedAt: Date.now() });
};

/** Our poller, without the cost of HTTP. It uses its own schedule. */
const ourPoller: Contender = ({ signal, check }) => {
  const client = normalizeOptions({
    apiKey: 'sk_test_bench',
    baseUrl: 'https://payments.example/api/v1',
    polling: { timeout: TIMEOUT, maxRequestsPerSecond: 1_000_000 },
  });
  const poller = new Poller(client, check, new AbortController().signal);
  return (reference) => {
    // Charges of the last 278 s: their pauses are spread from 3 to 15 s.
    const startedAt = Date.now() - Math.round(278_000 * Math.random());
    return new Promise((resolve) => {
      poller.add(normalizeWait(reference, { signal, startedAt }, client.polling.rules), resolve);
    });
  };
};

/** The loop that most people write, with its way to pause. */
const loop =
  (rest: (interval: number, signal: AbortSignal) => Promise<unknown>): Contender =>
  ({ check, getPause, signal }) =>
  async () => {
    const deadline = Date.now() + TIMEOUT;
    const interval = getPause();
    while (Date.now() < deadline) {
      await rest(interval, signal);
      const { result } = await check();
      if (result.status === 'success') return result;
    }
    throw new Error('Timed out.');
  };

const pWaitForLoop: Contender =
  ({ check, getPause, signal }) =>
  () =>
    pWaitFor(async () => (await check()).result.status === 'success', {
      interval: getPause(),
      timeout: TIMEOUT,
      before: false,
      signal,
    });

/** The waiter of the AWS SDK. It makes its first check at once. */
const smithy =
  (hasSignal: boolean): Contender =>
  ({ check, getPause, signal }) =>
  (reference) => {
    const seconds = getPause() / 1_000;
    const delays = { maxWaitTime: TIMEOUT / 1_000, minDelay: seconds, maxDelay: seconds };
    const options = { client: undefined, ...delays, ...(hasSignal ? { abortSignal: signal } : {}) };
    return createWaiter(options, reference, async () => {
      const { result } = await check();
      return { state: result.status === 'success' ? WaiterState.SUCCESS : WaiterState.RETRY };
    });
  };

export const contenders = {
  ours,
  ourPoller,
  // It cannot be aborted: with a listener for each pause it would be the next one.
  timerLoop: loop((interval) => new Promise((resolve) => setTimeout(resolve, interval))),
  timersPromises: loop((interval, signal) => sleep(interval, undefined, { signal })),
  pWaitFor: pWaitForLoop,
  smithy: smithy(true),
  smithyNoSignal: smithy(false),
} as const satisfies Record<string, Contender>;

export type Name = keyof typeof contenders;
