/** Each request as a span of `node:diagnostics_channel`, for OpenTelemetry and other tools. */

import type { TracingChannel } from 'node:diagnostics_channel';
import type { OperationName } from '../api/operations.ts';
import { type Outcome, PaymentsError } from '../errors.ts';
import { redactUnknownSecrets } from '../support/redact.ts';
import { sanitizeError } from '../support/sanitize-error.ts';
import { orUndefined } from '../support/untrusted.ts';

/**
 * What subscribers of the tracing channel `payment-collection-client:<operation>` (`node:diagnostics_channel`) get about
 * each request, the same object at its start and at its end. It is as safe as an event: it never has the result.
 */
export interface RequestTrace {
  operation: OperationName;
  /** 1 for the first attempt of a call. */
  attempt: number;
  /** The `X-Request-Id` that is sent. Absent at the start. */
  requestId?: string;
  /** The transaction: of a charge, once the response names it. */
  reference?: string;
  /** As it was given, with phone numbers and emails redacted. */
  idempotencyKey?: string;
  /** The HTTP status code, or `null` if no response came. Absent at the start. */
  status?: number | null;
  /** What might have happened to the money, if the request failed. `null` for a read. */
  outcome?: Outcome | null;
  /** A copy of the error, redacted, if the request failed. */
  error?: Error;
}

/**
 * Runs one request as a span of `node:diagnostics_channel`: what it starts, such as the HTTP request, is below the span.
 * `tracePromise` would do it, but it puts the result into the context, and the result holds the customer's email.
 *
 * @param createTrace is called only for a subscriber, and so is `readReference`, which reads the redacted reference of a
 * result.
 * @param run sets what it knows on the trace.
 */
export function traceRequest<T>(
  operation: OperationName,
  createTrace: () => RequestTrace,
  run: (trace: Pick<RequestTrace, 'requestId' | 'status'>) => Promise<T>,
  readReference: (result: T) => string,
): Promise<T> {
  const channel = findChannel(operation);
  if (!channel) return run({});
  const { start, end, asyncStart, asyncEnd, error } = channel;
  const trace = createTrace();
  return start.runStores(trace, async () => {
    const running = run(trace);
    end.publish(trace);
    try {
      const result = await running;
      trace.reference = readReference(result);
      return result;
    } catch (thrown) {
      trace.outcome = thrown instanceof PaymentsError ? thrown.outcome : null;
      trace.error = copyWithoutCauses(thrown);
      error.publish(trace);
      throw thrown;
    } finally {
      asyncStart.publish(trace);
      asyncEnd.publish(trace);
    }
  });
}

/** Without the causes: the first can be anything that the caller aborted with. */
function copyWithoutCauses(thrown: unknown): Error {
  if (!(thrown instanceof PaymentsError)) return sanitizeError(thrown, redactUnknownSecrets);
  const { name, message, code, stack = '' } = thrown;
  return Object.assign(new Error(message), { name, code, stack });
}

/** Kept, because a channel that nothing holds is collected. */
const channels = new Map<OperationName, TracingChannel<RequestTrace> | undefined>();

/** Returns the channel of an operation, if the runtime has one and anything subscribes to it. */
function findChannel(operation: OperationName): TracingChannel<RequestTrace> | undefined {
  if (!channels.has(operation))
    channels.set(
      operation,
      // Never imported: a browser and a bundler have no such module.
      orUndefined(() =>
        globalThis.process
          .getBuiltinModule('node:diagnostics_channel')
          .tracingChannel<RequestTrace>(`payment-collection-client:${operation}`),
      ),
    );
  const channel = channels.get(operation);
  if (!channel) return undefined;
  const { start, end, asyncStart, asyncEnd, error } = channel;
  const hasSubscribers =
    start.hasSubscribers ||
    end.hasSubscribers ||
    asyncStart.hasSubscribers ||
    asyncEnd.hasSubscribers ||
    error.hasSubscribers;
  return hasSubscribers ? channel : undefined;
}
