import { PaymentsClient, type PaymentsClientOptions } from 'payment-collection-client';
import { type DestinationStream, type Logger, pino } from 'pino';

/**
 * Creates the shop's log. The client's lines and errors contain no API key, phone number or email. The redaction here is for
 * what the shop itself logs, such as a request or an order.
 */
export function createLog(destination?: DestinationStream): Logger {
  const paths = [
    'phone',
    'customer_email',
    '*.phone',
    '*.customer_email',
    '*.headers.authorization',
    '*.apiKey',
  ];
  const options = { level: process.env.LOG_LEVEL ?? 'info', redact: { paths, censor: '[redacted]' } };
  return destination ? pino(options, destination) : pino(options);
}

/** Creates a client that logs to pino. A child logger marks its lines. */
export function loggedPayments(log: Logger, options: PaymentsClientOptions = {}): PaymentsClient {
  return new PaymentsClient({ ...options, logger: log.child({ module: 'payments' }) });
}
