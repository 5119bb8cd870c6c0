import { type Attributes, type Meter, metrics, type Tracer, trace } from '@opentelemetry/api';
import type { PaymentsEvent } from 'payment-collection-client';
import { createMetricRecorder } from './metrics.ts';
import { createSpanRecorder, recordRequestSpans } from './spans.ts';

/** @see paymentsTelemetry */
export interface TelemetryOptions {
  readonly tracer?: Tracer;
  readonly meter?: Meter;
  /** The client's base URL, for `server.address` and `server.port`. */
  readonly baseUrl?: string;
}

/** What records a client's calls until `stop`. */
export interface Telemetry {
  readonly onEvent: (event: PaymentsEvent) => void;
  stop(): void;
}

/**
 * Records spans and metrics. Spans of requests come from the tracing channels of every client in the process, the rest from
 * the `onEvent` of one. Neither contains an API key, phone number or email. References and idempotency keys are only in
 * spans: as an attribute of a metric, each would be another time series.
 */
export function paymentsTelemetry(options: TelemetryOptions = {}): Telemetry {
  const {
    tracer = trace.getTracer('payment-collection-client'),
    meter = metrics.getMeter('payment-collection-client'),
  } = options;
  const server = createServerAttributes(options.baseUrl);
  const stop = recordRequestSpans(tracer, server);
  const recordSpan = createSpanRecorder(tracer);
  const recordMetric = createMetricRecorder(meter, server);
  return {
    onEvent: (event) => {
      recordSpan(event);
      recordMetric(event);
    },
    stop,
  };
}

function createServerAttributes(baseUrl: string | undefined): Attributes {
  if (baseUrl === undefined) return {};
  const { hostname, port, protocol } = new URL(baseUrl);
  return {
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
  };
}
