import type { OperationName } from './contract/operation.ts';
import type { PaymentsErrorCode } from './errors.ts';

/** A request is about to leave. */
export interface RequestEvent {
  type: 'request';
  operation: OperationName;
  /** 1 for the first try of a call. */
  attempt: number;
  /** The transaction, where the request names one. */
  reference?: string;
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
  requestId?: string;
  /** Why the call did not succeed with this answer; `aborted` where the caller's signal ended it. */
  error?: PaymentsErrorCode | 'aborted';
}

/** A request will be sent again after `delay` milliseconds. */
export interface RetryEvent {
  type: 'retry';
  operation: OperationName;
  /** The try that failed. */
  attempt: number;
  reference?: string;
  delay: number;
  error: PaymentsErrorCode;
}

/** What the client tells `onEvent`: enough for logs, metrics or spans; never a key, a phone number or an email. */
export type PaymentsEvent = RequestEvent | ResponseEvent | RetryEvent;

/** Where log lines go. `console` is one, and so is a pino logger. Each line is one string. */
export interface Logger {
  debug(line: string): void;
  info(line: string): void;
  warn(line: string): void;
  error(line: string): void;
}

export type Report = (event: PaymentsEvent) => void;

/** Tells listener and logger. Whatever they throw changes no result, so it ends here. */
export function createReport(
  onEvent: ((event: PaymentsEvent) => void) | undefined,
  logger: Logger | undefined,
): Report {
  return (event) => {
    if (onEvent) shielded(() => onEvent(event));
    if (logger) shielded(() => logger[levelOf(event)](lineFor(event)));
  };
}

function shielded(tell: () => unknown): void {
  try {
    Promise.resolve(tell()).catch(() => {});
  } catch {}
}

function levelOf(event: PaymentsEvent): keyof Logger {
  if (event.type === 'retry') return 'warn';
  return event.type === 'response' && event.error ? 'warn' : 'debug';
}

function lineFor(event: PaymentsEvent): string {
  const subject = `payments: ${event.operation}${event.reference ? ` ${event.reference}` : ''}, try ${event.attempt}`;
  switch (event.type) {
    case 'request':
      return `${subject}: sending`;
    case 'response': {
      const answer = event.status === null ? 'no answer' : `answer ${event.status}`;
      const failure = event.error ? ` (${event.error})` : '';
      const id = event.requestId ? `, request id ${event.requestId}` : '';
      return `${subject}: ${answer} after ${Math.round(event.duration)} ms${failure}${id}`;
    }
    case 'retry':
      return `${subject}: ${event.error}, trying again in ${Math.round(event.delay)} ms`;
  }
}
