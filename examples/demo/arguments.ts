import { parseArgs } from 'node:util';
import { chargeMobileMoneyInputSchema, initializeInputSchema, networks } from 'payment-collection-client';
import type { ServiceDemo } from './service.ts';

/** The demo cannot run as it was started. The message says what to change. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Parses and validates the command line and the environment, before anything is sent. `null` means the sandbox. */
export function parseArguments(args: string[], environment: NodeJS.ProcessEnv): ServiceDemo | null {
  const values = parseOptions(args);
  const { PAYMENTS_BASE_URL: address, PAYMENTS_API_KEY: key } = environment;
  if (!address && !key) {
    if (!values.charge) return null;
    throw new UsageError('--charge is for a service: set PAYMENTS_BASE_URL and PAYMENTS_API_KEY.');
  }
  if (!address) throw new UsageError('PAYMENTS_API_KEY is set, and PAYMENTS_BASE_URL is not.');
  if (!key) throw new UsageError('PAYMENTS_BASE_URL is set, and PAYMENTS_API_KEY is not.');

  const { charge, phone, network: networkName, amount, email } = values;
  const payment = { amount, currency: 'GHS', customer_email: email };
  const network = networks.find((known) => known === networkName);
  if (charge && (!phone || !network)) {
    throw new UsageError(`--charge needs --phone and --network (${networks.join(', ')}).`);
  }
  const parsed = charge
    ? chargeMobileMoneyInputSchema.safeParse({ ...payment, phone, network })
    : initializeInputSchema.safeParse(payment);
  if (!parsed.success) {
    const issues = parsed.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`);
    throw new UsageError(`${issues.join('; ')}.`);
  }
  return { amount, email, charge: charge && phone && network ? { phone, network } : null };
}

function parseOptions(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        charge: { type: 'boolean', default: false },
        phone: { type: 'string' },
        network: { type: 'string' },
        amount: { type: 'string', default: '1.00' },
        email: { type: 'string', default: 'ama@example.com' },
      },
    }).values;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new UsageError(message.replaceAll('\n', ' '));
  }
}
