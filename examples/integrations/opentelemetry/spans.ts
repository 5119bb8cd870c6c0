import type { AsyncLocalStorage } from 'node:async_hooks';
import { type TracingChannel, tracingChannel } from 'node:diagnostics_channel';
import {
  type Attributes,
  type Context,
  context,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import {
  ATTR_ERROR_TYPE,
  ATTR_HTTP_REQUEST_METHOD,
  ATTR_HTTP_REQUEST_RESEND_COUNT,
  ATTR_HTTP_RESPONSE_STATUS_CODE,
} from '@opentelemetry/semantic-conventions';
import type { OperationName, PaymentsEvent, RequestTrace, WaitEvent } from 'payment-collection-client';

const OPERATIONS = ['initialize', 'chargeMobileMoney', 'verify'] as const;

const ROUTES: Record<OperationName, { method: 'GET' | 'POST'; template: string }> = {
  initialize: { method: 'POST', template: '/transactions/initialize' },
  chargeMobileMoney: { method: 'POST', template: '/transactions/charge-mobile-money' },
  verify: { method: 'GET', template: '/transactions/verify/{reference}' },
};

/**
 * Records a span of each request, below the caller's span. A span of the HTTP request is below it, if the context manager is
 * OpenTelemetry's `AsyncLocalStorageContextManager`, which its Node SDK uses.
 *
 * @returns a function that ends the recording.
 */
export function recordRequestSpans(tracer: Tracer, server: Attributes): () => void {
  const stops = OPERATIONS.map((operation) => recordOperation(operation, tracer, server));
  return () => {
    for (const stop of stops) stop();
  };
}

function recordOperation(operation: OperationName, tracer: Tracer, server: Attributes): () => void {
  const channel: TracingChannel<unknown, RequestTrace> = tracingChannel(
    `payment-collection-client:${operation}`,
  );
  const spans = new WeakMap<object, Span>();
  const begin = (request: RequestTrace): Span => {
    const span = spans.get(request) ?? startSpan(tracer, server, request);
    spans.set(request, span);
    return span;
  };
  const subscribers = {
    start: (request: RequestTrace) => void begin(request),
    end() {},
    asyncStart() {},
    asyncEnd: (request: RequestTrace) => endSpan(begin(request), request),
    error() {},
  };
  const contexts = findContextStorage();
  // The store is bound before the start is published: the span begins here.
  if (contexts)
    channel.start.bindStore(contexts, (request) => trace.setSpan(context.active(), begin(request)));
  channel.subscribe(subscribers);
  return () => {
    if (contexts) channel.start.unbindStore(contexts);
    channel.unsubscribe(subscribers);
  };
}

/** OpenTelemetry's API has no function that gives the storage of its context. */
function findContextStorage(): AsyncLocalStorage<Context> | undefined {
  const findManager: unknown = Reflect.get(context, '_getContextManager');
  if (typeof findManager !== 'function') return undefined;
  return Reflect.get(findManager.call(context), '_asyncLocalStorage');
}

function startSpan(tracer: Tracer, server: Attributes, request: RequestTrace): Span {
  const { method, template } = ROUTES[request.operation];
  return tracer.startSpan(`${method} ${template}`, {
    kind: SpanKind.CLIENT,
    attributes: {
      [ATTR_HTTP_REQUEST_METHOD]: method,
      'url.template': template,
      'payments.operation': request.operation,
      ...server,
      ...(request.attempt > 1 ? { [ATTR_HTTP_REQUEST_RESEND_COUNT]: request.attempt - 1 } : {}),
      ...(request.idempotencyKey === undefined ? {} : { 'payments.idempotency_key': request.idempotencyKey }),
    },
  });
}

function endSpan(span: Span, { reference, requestId, status, outcome, error }: RequestTrace): void {
  span.setAttributes({
    ...(reference === undefined ? {} : { 'payments.reference': reference }),
    ...(requestId === undefined ? {} : { 'payments.request_id': requestId }),
    ...(typeof status === 'number' ? { [ATTR_HTTP_RESPONSE_STATUS_CODE]: status } : {}),
    ...(outcome ? { 'payments.outcome': outcome } : {}),
  });
  if (error) {
    span.setAttribute(ATTR_ERROR_TYPE, 'code' in error ? String(error.code) : error.name);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end();
}

/**
 * Creates a recorder of one span for each wait, below the caller's span. It creates a span at the end, with its start time.
 * A retry, and a key that was used before, are events of the caller's span.
 */
export function createSpanRecorder(tracer: Tracer): (event: PaymentsEvent) => void {
  return (event) => {
    switch (event.type) {
      case 'wait':
        return recordWait(tracer, event);
      case 'retry':
        trace.getActiveSpan()?.addEvent('payments.retry', {
          'payments.operation': event.operation,
          'payments.retry.delay': event.delay,
          [ATTR_ERROR_TYPE]: event.error,
        });
        return;
      case 'journal':
        trace.getActiveSpan()?.addEvent('payments.journal', {
          'payments.operation': event.operation,
          'payments.journal.result': event.result,
          ...referenceAttribute(event),
        });
        return;
    }
  };
}

/** A deadline is not an error: the payment might still succeed. */
function recordWait(tracer: Tracer, event: WaitEvent): void {
  const endTime = Date.now();
  const span = tracer.startSpan('payments wait', {
    startTime: endTime - event.elapsed,
    attributes: {
      ...referenceAttribute(event),
      'payments.wait.result': event.result,
      'payments.wait.attempts': event.attempts,
      ...(event.status === undefined ? {} : { 'payments.status': event.status }),
    },
  });
  if (event.result === 'failed') span.setStatus({ code: SpanStatusCode.ERROR });
  span.end(endTime);
}

const referenceAttribute = ({ reference }: { reference?: string }): Attributes =>
  reference === undefined ? {} : { 'payments.reference': reference };
