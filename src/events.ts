import type { OperationName } from './api/operations.ts';
import type { PaymentsErrorCode } from './errors.ts';

/** A request is about to leave. */
export interface RequestEvent {
  type: 'request';
  operation: OperationName;
  /** 1 for the first try of a call. */
  attempt: number;
  /** The transaction, where the request names one. */
  reference?: string;
  /** The `X-Request-Id` that it is sent with. Its `response` event has the same. */
  requestId: string;
}

/** A request ended: with an answer, or without one (`status` is `null`). */
export interface ResponseEvent {
  type: 'response';
  operation: OperationName;
  attempt: number;
  reference?: string;
  /** The HTTP status code, or `null` where no answer came. */
  status: number | null;
  /** From the request to the end of the body, in milliseconds. */
  duration: number;
  /** The `X-Request-Id` that the request was sent with. */
  requestId: string;
  /** The id that the service sent back, if it is another one. */
  serviceRequestId?: string;
  /** Why the call did not succeed with this answer; `aborted` where the caller's signal ended a read. */
  error?: PaymentsErrorCode | 'aborted';
}

/** A request will be sent again after `delay` milliseconds. */
export interface RetryEvent {
  type: 'retry';
  operation: OperationName;
  /** The try that failed. */
  attempt: number;
  reference?: string;
  /** The pause before the next try, in milliseconds. */
  delay: number;
  error: PaymentsErrorCode;
}

/** A poll of a wait ended. Waits on one reference share it. */
export interface PollEvent {
  type: 'poll';
  reference: string;
  /** 1 for the first poll of the reference. */
  attempt: number;
  /** The status, where the poll was answered with one: as the service wrote it if that is a plain word, else `unrecognised`. */
  status?: string;
  error?: PaymentsErrorCode;
  /** How long after it was due the poll left, in milliseconds: it grows where a limit holds polls back. */
  lag: number;
  /** Milliseconds to the next poll, or `null` where there will be none. */
  delay: number | null;
}

/** A wait ended. */
export interface WaitEvent {
  type: 'wait';
  reference: string;
  /** `failed`: a fault that does not pass, or a transaction that is not the expected one. No statement about payment. */
  result: 'final' | 'timeout' | 'aborted' | 'closed' | 'failed';
  /** The status that was seen last: as the service wrote it if that is a plain word, else `unrecognised`. */
  status?: string;
  /** How many polls the wait took part in. */
  attempts: number;
  /** Milliseconds since `startedAt`, or since the wait began. */
  elapsed: number;
}

/** A call with an `idempotencyKey` met something else than a new key. */
export interface JournalEvent {
  type: 'journal';
  operation: OperationName;
  /** As it was given, but for a phone number or an email in it. */
  idempotencyKey: string;
  /**
   * - `replayed`: the recorded result was given, and nothing sent.
   * - `waiting`: the same key is in progress elsewhere; its result is waited for.
   * - `unresolved`: a charge may exist; nothing is sent until the key is settled.
   * - `not_recorded`: how this call ended could not be recorded, so its key stays in doubt.
   */
  result: 'replayed' | 'waiting' | 'unresolved' | 'not_recorded';
  /** The transaction, where it is known. */
  reference?: string;
}

/**
 * A setting of the journal's database with which the record of a charge could be lost. Told once for each journal, after
 * its first use.
 */
export interface JournalWarningEvent {
  type: 'journal_warning';
  /** As the database names it, such as `appendfsync`. */
  setting: string;
  value: string;
  /** What can be lost, and what to set instead. */
  message: string;
}

/** What the client tells `onEvent`: enough for logs, metrics or spans; never a key, a phone number or an email. */
export type PaymentsEvent =
  | RequestEvent
  | ResponseEvent
  | RetryEvent
  | PollEvent
  | WaitEvent
  | JournalEvent
  | JournalWarningEvent;

/** Where log lines go. `console` is one, and so is a pino logger. Each line is one string. */
export interface Logger {
  /** Requests, answers and polls that are as they should be. */
  debug(line: string): void;
  /** How a wait ended, and an `idempotencyKey` that was used before. */
  info(line: string): void;
  /** A fault, a retry, a wait that ended without a final status, a charge in doubt, a journal that can lose records. */
  warn(line: string): void;
  /** How a charge ended could not be recorded. */
  error(line: string): void;
}

export type Report = (event: PaymentsEvent) => void;

/** Tells listener and logger. Whatever they throw changes no result, so it ends here. */
export function createReporter(
  onEvent: ((event: PaymentsEvent) => void) | undefined,
  logger: Logger | undefined,
  showReference: (reference: string) => string,
): Report {
  if (!onEvent && !logger) return () => {};
  return (given) => {
    const reference = 'reference' in given ? given.reference : undefined;
    const event = reference === undefined ? given : { ...given, reference: showReference(reference) };
    if (onEvent) ignoringErrors(() => onEvent(event));
    if (logger) ignoringErrors(() => logger[levelOf(event)](formatLine(event)));
  };
}

/** Calls what a caller gave: nothing that it throws or rejects with goes further. */
export function ignoringErrors(tell: () => unknown): void {
  try {
    Promise.resolve(tell()).catch(() => {});
  } catch {}
}

/** A charge in doubt waits for a person. */
const JOURNAL_LEVELS = {
  replayed: 'info',
  waiting: 'info',
  unresolved: 'warn',
  not_recorded: 'error',
} as const satisfies Record<JournalEvent['result'], keyof Logger>;

function levelOf(event: PaymentsEvent): keyof Logger {
  if (event.type === 'wait') return event.result === 'final' ? 'info' : 'warn';
  if (event.type === 'journal') return JOURNAL_LEVELS[event.result];
  if (event.type === 'retry' || event.type === 'journal_warning') return 'warn';
  return 'error' in event ? 'warn' : 'debug';
}

function formatLine(event: PaymentsEvent): string {
  if (event.type === 'journal_warning') return `payments: ${event.message}`;
  const { reference } = event;
  const subject =
    'operation' in event ? [event.operation, reference].filter(Boolean).join(' ') : `wait ${reference}`;
  return `payments: ${subject}, ${describeEvent(event)}`;
}

function describeEvent(event: Exclude<PaymentsEvent, JournalWarningEvent>): string {
  switch (event.type) {
    case 'request':
      return `try ${event.attempt}: sending, request id ${event.requestId}`;
    case 'response': {
      const answer = event.status === null ? 'no answer' : `answer ${event.status}`;
      const other = event.serviceRequestId ? ` (the service's ${event.serviceRequestId})` : '';
      const id = `, request id ${event.requestId}${other}`;
      return `try ${event.attempt}: ${answer} after ${Math.round(event.duration)} ms${because(event.error)}${id}`;
    }
    case 'retry':
      return `try ${event.attempt}: ${event.error}, trying again in ${event.delay} ms`;
    case 'poll': {
      const next = event.delay === null ? 'the last' : `next in ${event.delay} ms`;
      return `poll ${event.attempt}: ${event.status ?? 'no status'}${because(event.error)}, ${next}`;
    }
    case 'journal':
      return `journal: ${event.result.replace('_', ' ')}, key ${JSON.stringify(event.idempotencyKey)}`;
    case 'wait':
      return `${event.result} after ${event.elapsed} ms and ${event.attempts} polls: ${event.status ?? 'no status'}`;
  }
}

const because = (error: string | undefined) => (error ? ` (${error})` : '');
