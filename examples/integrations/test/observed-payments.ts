import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { PaymentsClient, type PaymentsClientOptions } from 'payment-collection-client';
import { startSandbox } from 'payment-collection-client/sandbox';
import { onTestFinished } from 'vitest';
import { paymentsTelemetry } from '../opentelemetry/payments-telemetry.ts';

export const charge = {
  amount: '25.50',
  customer_email: 'ama.serwaa@example.com',
  phone: '0244123456',
  network: 'mtn',
} as const;

/** A client whose spans and metrics are cached in memory, on a sandbox that ends with the test. */
export async function start(options: PaymentsClientOptions = {}) {
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  const { baseUrl } = sandbox;

  const spans = new InMemorySpanExporter();
  const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }).getTracer(
    'shop',
  );
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter });
  const meters = new MeterProvider({ readers: [reader] });
  onTestFinished(() => meters.shutdown());

  const { onEvent, stop } = paymentsTelemetry({ tracer, meter: meters.getMeter('shop'), baseUrl });
  onTestFinished(stop);
  const payments = new PaymentsClient({
    baseUrl,
    apiKey: sandbox.liveKey,
    polling: { initialDelay: 20, minDelay: 20, maxDelay: 50 },
    onEvent,
    ...options,
  });
  onTestFinished(() => payments.close());

  /** Every data point of every metric, by the name of the metric. */
  const measured = async () => {
    await reader.forceFlush();
    const latest = exporter.getMetrics().at(-1);
    const metrics = latest?.scopeMetrics.flatMap(({ metrics }) => metrics) ?? [];
    return Object.fromEntries(
      metrics.map(({ descriptor, dataPoints }) => [
        descriptor.name,
        dataPoints.map(({ attributes, value }) => ({ attributes, value })),
      ]),
    );
  };
  return { sandbox, payments, tracer, spans: () => spans.getFinishedSpans(), measured };
}
