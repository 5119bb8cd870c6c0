import { type Attributes, type Meter, metrics, type Tracer, trace } from '@opentelemetry/api';
import type { PaymentsEvent } from 'payment-collection-client';
import { createRecord } from './metrics.ts';
import { createTell } from './spans.ts';

/** @see paymentsTelemetry */
export interface TelemetryOptions {
  readonly tracer?: Tracer;
  readonly meter?: Meter;
  /** As the client's: it becomes `server.address` and `server.port`. */
  readonly baseUrl?: string;
}

/**
 * Spans and metrics of a client, made from its events: give it as `onEvent`. Events hold no API key, no phone number and
 * no email. References are in spans alone: as an attribute of a metric, each would be a time series of its own.
 */
export function paymentsTelemetry(options: TelemetryOptions = {}): (event: PaymentsEvent) => void {
  const {
    tracer = trace.getTracer('payment-collection-client'),
    meter = metrics.getMeter('payment-collection-client'),
  } = options;
  const server = serverOf(options.baseUrl);
  const tell = createTell(tracer, server);
  const record = createRecord(meter, server);
  return (event) => {
    tell(event);
    record(event);
  };
}

function serverOf(baseUrl: string | undefined): Attributes {
  if (baseUrl === undefined) return {};
  const { hostname, port, protocol } = new URL(baseUrl);
  return {
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
  };
}
