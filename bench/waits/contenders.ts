import { setTimeout as sleep } from 'node:timers/promises';
import { createWaiter, WaiterState } from '@smithy/util-waiter';
import pWaitFor from 'p-wait-for';
import type { Transaction } from '../../src/api/transaction.ts';
import type { Answer } from '../../src/http/attempt.ts';
import { PaymentsClient } from '../../src/index.ts';
import { Waits } from '../../src/polling/poller.ts';
import { resolveWait } from '../../src/polling/resolve-wait.ts';
import { resolveOptions } from '../../src/resolve-options.ts';

/** What the waits of one measurement have in common. */
export interface Setting {
  /** Ends all of them. */
  signal: AbortSignal;
  /** Stands in for one request. All contenders ask the same stub, so what differs is theirs. */
  ask(reference: string): Promise<Answer<Transaction>>;
  /** The pause between two checks of one wait, in milliseconds. */
  pause(): number;
}

/** A way to wait for many references in one process. */
export type Contender = (setting: Setting) => (reference: string) => Promise<unknown>;

/** How long any wait may last, in milliseconds: nothing that is measured comes near it. */
export const TIMEOUT = 3_600_000;

/** Through the public client: for waits whose first check does not come due. */
const ours: Contender = ({ signal, pause }) => {
  const payments = new PaymentsClient({
    apiKey: 'sk_test_bench',
    baseUrl: 'http://localhost/api/v1',
    fetch: () => Promise.reject(new Error('No poll should have come due.')),
    polling: { initialDelay: pause(), timeout: TIMEOUT },
  });
  return (reference) => payments.waitForFinalStatus(reference, { signal, startedAt: Date.now() });
};

/** The engine inside the client, without the cost of HTTP. It goes by its own schedule. */
const ourEngine: Contender = ({ signal, ask }) => {
  const { rules, ...limits } = resolveOptions({
    apiKey: 'sk_test_bench',
    baseUrl: 'https://payments.example/api/v1',
    polling: { timeout: TIMEOUT, maxRequestsPerSecond: 1_000_000 },
  }).polling;
  const waits = new Waits(ask, { rules, ...limits }, () => {});
  return (reference) => {
    // Charges of the last 278 s: their pauses are spread from 3 to 15 s.
    const startedAt = Date.now() - Math.round(278_000 * Math.random());
    return new Promise((resolve, reject) => {
      waits.join(resolveWait(reference, { signal, startedAt }, rules), resolve, reject);
    });
  };
};

/** What most people write, as it pauses. */
const loop =
  (rest: (interval: number, signal: AbortSignal) => Promise<unknown>): Contender =>
  ({ ask, pause, signal }) =>
  async (reference) => {
    const deadline = Date.now() + TIMEOUT;
    const interval = pause();
    while (Date.now() < deadline) {
      await rest(interval, signal);
      const { result } = await ask(reference);
      if (result.status === 'success') return result;
    }
    throw new Error('Timed out.');
  };

const pWaitForIt: Contender =
  ({ ask, pause, signal }) =>
  (reference) =>
    pWaitFor(async () => (await ask(reference)).result.status === 'success', {
      interval: pause(),
      timeout: TIMEOUT,
      before: false,
      signal,
    });

/** The waiter of the AWS SDK. It makes its first check at once. */
const smithy =
  (listens: boolean): Contender =>
  ({ ask, pause, signal }) =>
  (reference) => {
    const seconds = pause() / 1_000;
    const delays = { maxWaitTime: TIMEOUT / 1_000, minDelay: seconds, maxDelay: seconds };
    const options = { client: undefined, ...delays, ...(listens ? { abortSignal: signal } : {}) };
    return createWaiter(options, reference, async () => {
      const { result } = await ask(reference);
      return { state: result.status === 'success' ? WaiterState.SUCCESS : WaiterState.RETRY };
    });
  };

export const contenders = {
  ours,
  ourEngine,
  // It cannot be aborted: with a listener for each pause it would be the next one.
  timerLoop: loop((interval) => new Promise((resolve) => setTimeout(resolve, interval))),
  timersPromises: loop((interval, signal) => sleep(interval, undefined, { signal })),
  pWaitFor: pWaitForIt,
  smithy: smithy(true),
  smithyNoSignal: smithy(false),
} as const satisfies Record<string, Contender>;

export type Name = keyof typeof contenders;
