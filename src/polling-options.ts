import type { Expectation } from './contract/input.ts';
import { type Transaction, type TransactionStatus, transactionStatuses } from './contract/transaction.ts';
import { ConfigurationError, type PaymentsError } from './errors.ts';
import { MAX_TIMEOUT_MS } from './longest-timer.ts';
import type { RequestOptions } from './options.ts';
import { defaultFinalStatuses, defaultSchedule, type Schedule } from './polling/schedule.ts';
import { refuseUnknownOption } from './unknown-option.ts';

/** A status that SPEC.md shows. */
export type KnownStatus = Exclude<TransactionStatus, 'unrecognised'>;

/** How all waits of a client poll. All durations are in milliseconds. */
export interface PollingOptions extends Schedule {
  /**
   * The statuses that end a wait. SPEC.md does not say whether an abandoned payment may still succeed: where yours
   * may, leave `abandoned` out.
   *
   * @default ['success', 'failed', 'abandoned']
   */
  finalStatuses?: readonly KnownStatus[] | undefined;
  /**
   * How many polls may be under way at once.
   *
   * @default 64
   */
  maxConcurrency?: number | undefined;
  /**
   * How many polls may leave in a second, at most a tenth of them at once. Over it, the one that is due earliest goes
   * first.
   *
   * @default 50
   */
  maxRequestsPerSecond?: number | undefined;
}

/** What `onPoll` gets after each poll: enough for a progress line. */
export interface Poll {
  reference: string;
  /** 1 for the first poll of this wait. */
  attempt: number;
  /** Milliseconds since `startedAt`, or since the wait began. */
  elapsed: number;
  /** The transaction, where the poll was answered with one. */
  transaction: Transaction | undefined;
  /** Why the poll failed, where it did. A passing fault does not end the wait. */
  error: PaymentsError | undefined;
  /** Milliseconds to the next poll, or `null` where there will be none. */
  nextDelay: number | null;
}

/**
 * What `waitForFinalStatus` and `watch` take last. Waits on one reference share their polls: as often as the most
 * impatient of them asks, from the `startedAt` and with the `headers` of the first.
 */
export interface WaitOptions extends RequestOptions, Omit<Schedule, 'timeout'> {
  /**
   * How long to wait in milliseconds, counted from `startedAt` where that is given: the deadline. May be `Infinity`.
   *
   * @default 600_000, or the client's `polling.timeout`
   */
  timeout?: number | undefined;
  /**
   * When the charge was made, in milliseconds since 1970. Schedule and deadline count from there, also in another
   * process that carries the wait on. Without it the first check is made at once.
   *
   * @example startedAt: order.chargedAt.getTime()
   */
  startedAt?: number | undefined;
  /** Hears of each poll. Neither what it throws nor what it does to the transaction changes anything. */
  onPoll?: ((poll: Poll) => void) | undefined;
  /** What the transaction must show: judged on the final status. @example { amount: '25.50', currency: 'GHS' } */
  expect?: Expectation | undefined;
  /** The statuses that end this wait. @default the client's `polling.finalStatuses` */
  finalStatuses?: readonly KnownStatus[] | undefined;
}

/** A reference for `reconcile`, with what is known of its charge. */
export interface ReconcileItem {
  reference: string;
  /**
   * What the transaction must show, whatever its status: else the `error` of this reference is a
   * `TransactionMismatchError`. @example { amount: '25.50', currency: 'GHS' }
   */
  expect?: Expectation | undefined;
  /**
   * When the charge was made, in milliseconds since 1970. The check is then made `initialDelay` after it at the earliest,
   * and otherwise at once.
   */
  startedAt?: number | undefined;
}

/** What `reconcile` takes last: `timeout` bounds the check of each reference, counted from when that is taken up. */
export type ReconcileOptions = Omit<WaitOptions, 'expect' | 'startedAt' | 'finalStatuses'>;

/** What spaces and ends polls, with every default filled in. Waits without options of their own share one. */
export interface PollingRules {
  initialDelay: number;
  minDelay: number;
  maxDelay: number;
  timeout: number;
  finalStatuses: readonly string[];
}

export interface ResolvedPolling {
  rules: PollingRules;
  maxConcurrency: number;
  maxRequestsPerSecond: number;
}

export function resolvePolling(options: PollingOptions = {}): ResolvedPolling {
  const { maxConcurrency = 64, maxRequestsPerSecond = 50, ...rules } = options;
  if (!Number.isInteger(maxConcurrency) || maxConcurrency < 1) {
    throw new ConfigurationError('polling.maxConcurrency must be a whole number, 1 or more.');
  }
  if (!inRange(maxRequestsPerSecond, Number.MIN_VALUE, 1_000_000)) {
    throw new ConfigurationError('polling.maxRequestsPerSecond must be more than 0 and at most 1,000,000.');
  }
  const defaults = { ...defaultSchedule, finalStatuses: defaultFinalStatuses };
  return {
    rules: resolveRules(rules, defaults, POLLING_OPTIONS, 'polling.'),
    maxConcurrency,
    maxRequestsPerSecond,
  };
}

const POLLING_OPTIONS: Readonly<Record<keyof PollingOptions, true>> = {
  initialDelay: true,
  minDelay: true,
  maxDelay: true,
  timeout: true,
  finalStatuses: true,
  maxConcurrency: true,
  maxRequestsPerSecond: true,
};

const WAIT_OPTIONS: Readonly<Record<keyof WaitOptions, true>> = {
  signal: true,
  timeout: true,
  maxRetries: true,
  headers: true,
  startedAt: true,
  onPoll: true,
  expect: true,
  finalStatuses: true,
  initialDelay: true,
  minDelay: true,
  maxDelay: true,
};

type RulesOptions = Schedule & { finalStatuses?: readonly KnownStatus[] | undefined };

export function resolveRules(
  options: RulesOptions,
  defaults: PollingRules,
  known: Readonly<Record<string, true>> = WAIT_OPTIONS,
  inside = '',
): PollingRules {
  const {
    initialDelay = defaults.initialDelay,
    minDelay = defaults.minDelay,
    maxDelay = isDelay(minDelay, 1) ? Math.max(defaults.maxDelay, minDelay) : defaults.maxDelay,
    timeout = defaults.timeout,
    finalStatuses,
    ...unknown
  } = options;
  refuseUnknownOption(unknown, known, inside);
  checkDelays({ initialDelay, minDelay, maxDelay });
  checkTimeout(timeout);
  const finals = finalStatuses === undefined ? defaults.finalStatuses : validateFinalStatuses(finalStatuses);
  return { initialDelay, minDelay, maxDelay, timeout, finalStatuses: finals };
}

/** A list of its own: what ends a wait must not change while it waits. */
function validateFinalStatuses(finalStatuses: readonly KnownStatus[]): readonly string[] {
  const finals: readonly unknown[] = Array.isArray(finalStatuses) ? [...finalStatuses] : [];
  if (!finals.includes('success')) {
    throw new ConfigurationError(
      "finalStatuses must be a list with 'success' in it: nothing follows a payment.",
    );
  }
  return finals.map((given) => {
    const status = transactionStatuses.find((known) => known === given);
    if (status !== undefined) return status;
    throw new ConfigurationError(`finalStatuses must be some of ${transactionStatuses.join(', ')}.`);
  });
}

/** Text from an environment variable would be put behind a number, not added to it. */
export function checkTimeout(timeout: number): void {
  if (!(typeof timeout === 'number' && timeout > 0))
    throw new ConfigurationError('The timeout of a wait must be milliseconds, more than 0.');
}

function checkDelays({
  initialDelay,
  minDelay,
  maxDelay,
}: Pick<PollingRules, 'initialDelay' | 'minDelay' | 'maxDelay'>): void {
  for (const [name, delay, least] of [
    ['initialDelay', initialDelay, 0],
    ['minDelay', minDelay, 1],
    ['maxDelay', maxDelay, 1],
  ] as const) {
    if (!isDelay(delay, least)) {
      throw new ConfigurationError(`${name} must be milliseconds, at least ${least} and under 2^31.`);
    }
  }
  if (minDelay > maxDelay) throw new ConfigurationError('minDelay must not be more than maxDelay.');
}

function isDelay(delay: number, least: number): boolean {
  return inRange(delay, least, MAX_TIMEOUT_MS);
}

/** Text would be compared as the number in it, and a BigInt breaks the arithmetic that follows. */
function inRange(value: number, least: number, most: number): boolean {
  return typeof value === 'number' && value >= least && value <= most;
}
