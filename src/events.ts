/** What the client reports to `onEvent` and to the logger, and how each event reads as a log line. */

import type { OperationName } from './api/operations.ts';
import type { PaymentsErrorCode } from './errors.ts';
import type { AttentionReason } from './ledger/order.ts';

export type { AttentionReason } from './ledger/order.ts';

/** A request is about to be sent. */
export interface RequestEvent {
  type: 'request';
  operation: OperationName;
  /** 1 for the first attempt of a call. */
  attempt: number;
  /** The transaction, if the request names one. */
  reference?: string;
  /** The `X-Request-Id` that is sent. The `response` event has the same. */
  requestId: string;
}

/** A request ended, with a response or without one (`status` is `null`). */
export interface ResponseEvent {
  type: 'response';
  operation: OperationName;
  attempt: number;
  reference?: string;
  /** The HTTP status code, or `null` if no response came. */
  status: number | null;
  /** The time from the request to the end of the body, in milliseconds. */
  duration: number;
  /** The `X-Request-Id` that was sent. */
  requestId: string;
  /** The id that the service returned, if it is another one. */
  serviceRequestId?: string;
  /** Why the call did not succeed with this response. `aborted` if the caller's signal ended a read. */
  error?: PaymentsErrorCode | 'aborted';
}

/** The call is retried after `delay` milliseconds. */
export interface RetryEvent {
  type: 'retry';
  operation: OperationName;
  /** The attempt that failed. */
  attempt: number;
  reference?: string;
  /** The pause before the next attempt, in milliseconds. */
  delay: number;
  error: PaymentsErrorCode;
}

/** A poll of a wait ended. Waits on one reference share it. */
export interface PollEvent {
  type: 'poll';
  reference: string;
  /** 1 for the first poll of the reference. */
  attempt: number;
  /** The status, if the poll returned one: as the service wrote it if that is a plain word, else `unrecognised`. */
  status?: string;
  /** Why the poll failed, if it did. */
  error?: PaymentsErrorCode;
  /** How long after its due time the poll was sent, in milliseconds. It grows if a limit delays polls. */
  lag: number;
  /** Milliseconds to the next poll, or `null` if there will be none. */
  delay: number | null;
}

/** A wait ended. */
export interface WaitEvent {
  type: 'wait';
  reference: string;
  /** `failed`: a permanent error, or a transaction that is not the expected one. It says nothing about the payment. */
  result: 'final' | 'timeout' | 'aborted' | 'closed' | 'failed';
  /** The last status: as the service wrote it if that is a plain word, else `unrecognised`. */
  status?: string;
  /** How many polls the wait took part in. */
  attempts: number;
  /** Milliseconds since `startedAt`, or since the wait started. */
  elapsed: number;
}

/** A call with an `idempotencyKey` found that the key is not new, or could not record its result. */
export interface JournalEvent {
  type: 'journal';
  operation: OperationName;
  /** As it was given, with phone numbers and emails redacted. */
  idempotencyKey: string;
  /**
   * - `replayed`: the recorded result was returned, and nothing was sent.
   * - `waiting`: another call with this key is in progress; this call waits for its result.
   * - `unresolved`: a charge might exist; nothing is sent until the key is resolved.
   * - `not_recorded`: the result of this call could not be recorded within 5 s. That is tried for 10 minutes, and the key is
   *   unresolved until then.
   */
  result: 'replayed' | 'waiting' | 'unresolved' | 'not_recorded';
  /** The transaction, if it is known. */
  reference?: string;
}

/** A person resolved a payment with `payments.resolve`. */
export interface ResolvedEvent {
  type: 'resolved';
  operation: OperationName;
  /** As it was given, with emails and API keys redacted. */
  idempotencyKey: string;
  /** `charged`: the charge exists, or was accepted. */
  result: 'charged' | 'not_charged' | 'closed';
  /** The transaction, if the charge exists. */
  reference?: string;
  /** The person. */
  by: string;
}

/**
 * A setting of the journal's database can lose the record of a charge. It is reported once for each journal, after its
 * first use.
 */
export interface JournalWarningEvent {
  type: 'journal_warning';
  /** As the database names it, such as `appendfsync`. */
  setting: string;
  value: string;
  /** What can be lost, and what to set instead. */
  message: string;
}

/** What nobody would notice, and the shop's developers have to know. */
export interface WarningEvent {
  type: 'warning';
  /**
   * - `no_reference`: a body that `notify` got has no reference in it. It is reported once for each client.
   * - `calls_left`: `close` did not wait any longer for calls in flight.
   */
  code: 'no_reference' | 'calls_left';
  message: string;
}

/** A step of the follow-up of a payment, of `createFollowUps` or `createOrderPayments`. */
export interface FollowUpEvent {
  type: 'follow_up';
  /**
   * - `final`: a check returned the final status.
   * - `delivered`: `onFinal`, `onPaid` or `onUnpaid` succeeded.
   * - `attention`: a person is needed, and `onAttention` is about to be called.
   * - `handler_failed`: a handler threw `error`. It is called again.
   * - `handler_slow`: a handler has not settled for a minute. Its payment is held until it does.
   * - `given_up`: nothing was final in the 7 days since the payment began. There are no more checks, unless a notification comes.
   * - `failed`: a step failed with `error`. It is tried again. A record of another service is reported once.
   * - `unreadable`: the record cannot be read. A newer version of this package might have written it. It is listed for a person, and
   *   tried again after a day.
   * - `paused`: `run` failed with `error`, and goes on after `delay`.
   */
  result:
    | 'final'
    | 'delivered'
    | 'attention'
    | 'handler_failed'
    | 'handler_slow'
    | 'given_up'
    | 'failed'
    | 'unreadable'
    | 'paused';
  /** As it was given, with emails and API keys redacted. */
  idempotencyKey?: string;
  /** The transaction, if it is known. */
  reference?: string;
  /** The final status. */
  status?: string;
  /** Why a person is needed. */
  reason?: AttentionReason;
  /** Name and message of the error, without secrets. */
  error?: string;
  /** The pause in milliseconds. */
  delay?: number;
}

/**
 * What `onEvent` gets: enough for logs, metrics or spans. It has no field for an API key, or for a phone number or an email
 * of a customer. In texts they are redacted (docs/explanation/security.md).
 */
export type PaymentsEvent =
  | RequestEvent
  | ResponseEvent
  | RetryEvent
  | PollEvent
  | WaitEvent
  | JournalEvent
  | ResolvedEvent
  | FollowUpEvent
  | JournalWarningEvent
  | WarningEvent;

/** Where log lines go: `console` or a pino logger, for example. Each line is one string. */
export interface Logger {
  /** Takes requests, responses and polls without an error. */
  debug(line: string): void;
  /**
   * Takes waits and follow-ups that ended with a final status, replays of an `idempotencyKey`, and resolved keys.
   */
  info(line: string): void;
  /**
   * Takes errors, retries, waits that ended without a final status, unresolved keys, follow-ups that need a person, and a
   * journal that can lose records.
   */
  warn(line: string): void;
  /** Takes charges that could not be recorded, handlers that failed, follow-ups that paused, and warnings. */
  error(line: string): void;
}

export type Report = (event: PaymentsEvent) => void;

/**
 * Returns what reports an event to listener and logger. Whatever they throw changes no result, so it ends here.
 * `reportRequest` is the same, but `undefined` if nothing listens: no event of a request is made then.
 */
export function createReporters(
  onEvent: ((event: PaymentsEvent) => void) | undefined,
  logger: Logger | undefined,
  redactReference: (reference: string) => string,
): { report: Report; reportRequest: Report | undefined } {
  const report: Report = (given) => {
    // Without a logger, what nobody would notice is written all the same.
    const isLoud = !logger && pickLevel(given) === 'error';
    if (!onEvent && !logger && !isLoud) return;
    const reference = 'reference' in given ? given.reference : undefined;
    const event = reference === undefined ? given : { ...given, reference: redactReference(reference) };
    if (onEvent) ignoreErrors(() => onEvent(event));
    if (logger) ignoreErrors(() => logger[pickLevel(event)](formatLine(event)));
    // biome-ignore lint/suspicious/noConsole: what fails for days must not go unnoticed
    if (isLoud) ignoreErrors(() => console.error(formatLine(event)));
  };
  return { report, reportRequest: (onEvent ?? logger) && report };
}

/** Calls a function of the caller. An error that it throws, or rejects with, goes no further. */
export function ignoreErrors(call: () => unknown): void {
  try {
    Promise.resolve(call()).catch(() => {});
  } catch {}
}

function pickLevel(event: PaymentsEvent): keyof Logger {
  if (event.type === 'wait') return event.result === 'final' ? 'info' : 'warn';
  if (event.type === 'resolved') return 'info';
  if (event.type === 'journal') return JOURNAL_LEVELS[event.result];
  if (event.type === 'follow_up') return FOLLOW_UP_LEVELS[event.result];
  if (event.type === 'warning') return 'error';
  if (event.type === 'retry' || event.type === 'journal_warning') return 'warn';
  return 'error' in event ? 'warn' : 'debug';
}

const JOURNAL_LEVELS = {
  replayed: 'info',
  waiting: 'info',
  unresolved: 'warn',
  not_recorded: 'error',
} as const satisfies Record<JournalEvent['result'], keyof Logger>;

const FOLLOW_UP_LEVELS = {
  final: 'debug',
  delivered: 'info',
  attention: 'warn',
  handler_failed: 'error',
  handler_slow: 'error',
  given_up: 'warn',
  failed: 'warn',
  unreadable: 'warn',
  paused: 'error',
} as const satisfies Record<FollowUpEvent['result'], keyof Logger>;

/**
 * Returns one line. The message of a handler or of a database can have line breaks: what follows one would look like a line
 * of its own.
 */
function formatLine(event: PaymentsEvent): string {
  return describeLine(event).replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
}

/** `payments: verify TXN-8f2c61d0, attempt 1: response 200 after 87 ms, request id …` */
function describeLine(event: PaymentsEvent): string {
  if (event.type === 'journal_warning' || event.type === 'warning') return `payments: ${event.message}`;
  const { reference } = event;
  const action = 'operation' in event ? event.operation : event.type === 'follow_up' ? 'follow-up' : 'wait';
  const subject = [action, reference].filter(Boolean).join(' ');
  return `payments: ${subject}, ${describeEvent(event)}`;
}

function describeEvent(event: Exclude<PaymentsEvent, JournalWarningEvent | WarningEvent>): string {
  switch (event.type) {
    case 'request':
      return `attempt ${event.attempt}: sending, request id ${event.requestId}`;
    case 'response': {
      const response = event.status === null ? 'no response' : `response ${event.status}`;
      const duration = `${Math.round(event.duration)} ms`;
      const serviceId = event.serviceRequestId ? ` (the service's ${event.serviceRequestId})` : '';
      const requestId = `request id ${event.requestId}${serviceId}`;
      return `attempt ${event.attempt}: ${response} after ${duration}${formatError(event.error)}, ${requestId}`;
    }
    case 'retry':
      return `attempt ${event.attempt}: ${event.error}, retry in ${event.delay} ms`;
    case 'poll': {
      const next = event.delay === null ? 'no further poll' : `next in ${event.delay} ms`;
      return `poll ${event.attempt}: ${event.status ?? 'no status'}${formatError(event.error)}, ${next}`;
    }
    case 'wait':
      return `${event.result} after ${event.elapsed} ms and ${event.attempts} polls: ${event.status ?? 'no status'}`;
    case 'resolved':
      return `resolved as ${event.result.replace('_', ' ')} by ${event.by}, key ${JSON.stringify(event.idempotencyKey)}`;
    case 'journal':
      return `journal: ${event.result.replace('_', ' ')}, key ${JSON.stringify(event.idempotencyKey)}`;
    case 'follow_up':
      return describeFollowUpEvent(event);
  }
}

function describeFollowUpEvent({
  result,
  reason,
  status,
  error,
  delay,
  idempotencyKey,
}: FollowUpEvent): string {
  const facts = reason ?? status;
  const parts = [
    facts === undefined ? result.replace('_', ' ') : `${result.replace('_', ' ')} (${facts})`,
    error,
    delay === undefined ? undefined : `next in ${delay} ms`,
    idempotencyKey === undefined ? undefined : `key ${JSON.stringify(idempotencyKey)}`,
  ];
  return parts.filter((part) => part !== undefined).join(', ');
}

function formatError(error: string | undefined): string {
  return error ? ` (${error})` : '';
}
