import { type Attributes, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api';
import {
  ATTR_ERROR_TYPE,
  ATTR_HTTP_REQUEST_METHOD,
  ATTR_HTTP_REQUEST_RESEND_COUNT,
  ATTR_HTTP_RESPONSE_STATUS_CODE,
} from '@opentelemetry/semantic-conventions';
import type { OperationName, PaymentsEvent, ResponseEvent, WaitEvent } from 'payment-collection-client';

const ROUTES: Record<OperationName, { method: 'GET' | 'POST'; template: string }> = {
  initialize: { method: 'POST', template: '/transactions/initialize' },
  chargeMobileMoney: { method: 'POST', template: '/transactions/charge-mobile-money' },
  verify: { method: 'GET', template: '/transactions/verify/{reference}' },
};

/**
 * Creates a recorder of one span for each request and each wait, below the caller's span. It creates a span at the end, with
 * its start time, because the events of concurrent calls cannot be matched before. A retry is an event of the caller's span.
 */
export function createSpanRecorder(tracer: Tracer, server: Attributes): (event: PaymentsEvent) => void {
  return (event) => {
    switch (event.type) {
      case 'response':
        return recordRequest(tracer, server, event);
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

function recordRequest(tracer: Tracer, server: Attributes, event: ResponseEvent): void {
  const { method, template } = ROUTES[event.operation];
  const endTime = Date.now();
  const span = tracer.startSpan(`${method} ${template}`, {
    kind: SpanKind.CLIENT,
    startTime: endTime - event.duration,
    attributes: {
      [ATTR_HTTP_REQUEST_METHOD]: method,
      'url.template': template,
      'payments.operation': event.operation,
      ...server,
      ...referenceAttribute(event),
      ...(event.attempt > 1 ? { [ATTR_HTTP_REQUEST_RESEND_COUNT]: event.attempt - 1 } : {}),
      ...(event.status === null ? {} : { [ATTR_HTTP_RESPONSE_STATUS_CODE]: event.status }),
      'payments.request_id': event.requestId,
      ...(event.serviceRequestId === undefined
        ? {}
        : { 'payments.service_request_id': event.serviceRequestId }),
    },
  });
  if (event.error) {
    span.setAttribute(ATTR_ERROR_TYPE, event.error);
    span.setStatus({ code: SpanStatusCode.ERROR });
  }
  span.end(endTime);
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
