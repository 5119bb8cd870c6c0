import { PaymentsClient, type PaymentsClientOptions } from 'payment-collection-client';
import { type DestinationStream, type Logger, pino } from 'pino';

/**
 * The shop's log. The client's own lines hold no API key, no phone number and no email, and neither do its errors: what
 * is taken out here is what the shop itself may log, such as a request or an order.
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
  const options = { level: process.env.LOG_LEVEL ?? 'info', redact: { paths, censor: '[taken out]' } };
  return destination ? pino(options, destination) : pino(options);
}

/** A pino logger is what `logger` takes; a child of it says where the lines come from. */
export function loggedPayments(log: Logger, options: PaymentsClientOptions = {}): PaymentsClient {
  return new PaymentsClient({ ...options, logger: log.child({ module: 'payments' }) });
}
