import { parseArgs } from 'node:util';
import { chargeMobileMoneyInputSchema, initializeInputSchema, networks } from 'payment-collection-client';
import type { ServiceTry } from './try-service.ts';

/** The demo cannot do what it was asked to: the message is all that whoever started it needs. */
export class NotUnderstood extends Error {
  override readonly name = 'NotUnderstood';
}

/** What the command line and the environment ask for, checked before anything is sent: `null` is the sandbox. */
export function asked(args: string[], environment: NodeJS.ProcessEnv): ServiceTry | null {
  const values = valuesOf(args);
  const { PAYMENTS_BASE_URL: address, PAYMENTS_API_KEY: key } = environment;
  if (!address && !key) {
    if (!values.charge) return null;
    throw new NotUnderstood('--charge is for a service: set PAYMENTS_BASE_URL and PAYMENTS_API_KEY.');
  }
  if (!address) throw new NotUnderstood('PAYMENTS_API_KEY is set, and PAYMENTS_BASE_URL is not.');
  if (!key) throw new NotUnderstood('PAYMENTS_BASE_URL is set, and PAYMENTS_API_KEY is not.');

  const { charge, phone, network, amount, email } = values;
  const payment = { amount, currency: 'GHS', customer_email: email };
  const chosen = networks.find((known) => known === network);
  if (charge && (!phone || !chosen)) {
    throw new NotUnderstood(`--charge needs --phone and --network (${networks.join(', ')}).`);
  }
  const read = charge
    ? chargeMobileMoneyInputSchema.safeParse({ ...payment, phone, network })
    : initializeInputSchema.safeParse(payment);
  if (!read.success) {
    const faults = read.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`);
    throw new NotUnderstood(`${faults.join('; ')}.`);
  }
  return { amount, email, charge: charge && phone && chosen ? { phone, network: chosen } : null };
}

function valuesOf(args: string[]) {
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
    throw new NotUnderstood(message.replaceAll('\n', ' '));
  }
}
