import { type Attributes, type Meter, metrics, type Tracer, trace } from '@opentelemetry/api';
import type { PaymentsEvent } from 'payment-collection-client';
import { createMetricRecorder } from './metrics.ts';
import { createSpanRecorder } from './spans.ts';

/** @see paymentsTelemetry */
export interface TelemetryOptions {
  readonly tracer?: Tracer;
  readonly meter?: Meter;
  /** The client's base URL, for `server.address` and `server.port`. */
  readonly baseUrl?: string;
}

/**
 * Creates an `onEvent` that records spans and metrics. Events contain no API key, phone number or email. References are only
 * in spans: as an attribute of a metric, each reference would be another time series.
 */
export function paymentsTelemetry(options: TelemetryOptions = {}): (event: PaymentsEvent) => void {
  const {
    tracer = trace.getTracer('payment-collection-client'),
    meter = metrics.getMeter('payment-collection-client'),
  } = options;
  const server = createServerAttributes(options.baseUrl);
  const recordSpan = createSpanRecorder(tracer, server);
  const recordMetric = createMetricRecorder(meter, server);
  return (event) => {
    recordSpan(event);
    recordMetric(event);
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
