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
 * A span for each request and each wait, below the span that the caller is in. Both are made once they have ended, with
 * the time when they began: the events of two calls at once cannot be told apart before. What happened between two
 * requests is an event of the caller's own span.
 */
export function createTell(tracer: Tracer, server: Attributes): (event: PaymentsEvent) => void {
  return (event) => {
    switch (event.type) {
      case 'response':
        return requestSpan(tracer, server, event);
      case 'wait':
        return waitSpan(tracer, event);
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
          ...referenceIn(event),
        });
        return;
    }
  };
}

function requestSpan(tracer: Tracer, server: Attributes, event: ResponseEvent): void {
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
      ...referenceIn(event),
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

/** A deadline that passed is no error: the payment may still be made. */
function waitSpan(tracer: Tracer, event: WaitEvent): void {
  const endTime = Date.now();
  const span = tracer.startSpan('payments wait', {
    startTime: endTime - event.elapsed,
    attributes: {
      ...referenceIn(event),
      'payments.wait.result': event.result,
      'payments.wait.attempts': event.attempts,
      ...(event.status === undefined ? {} : { 'payments.status': event.status }),
    },
  });
  if (event.result === 'failed') span.setStatus({ code: SpanStatusCode.ERROR });
  span.end(endTime);
}

const referenceIn = ({ reference }: { reference?: string }): Attributes =>
  reference === undefined ? {} : { 'payments.reference': reference };
