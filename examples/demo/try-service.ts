import { type Network, PaymentsClient, WaitTimeoutError } from 'payment-collection-client';
import { aside, heading, line, progressLine } from './screen.ts';

export interface ServiceTry {
  amount: string;
  email: string;
  /** Whom to charge, if anyone. */
  charge: { phone: string; network: Network } | null;
}

/** The same calls against the service that the environment names. Nobody is charged unless `--charge` says so. */
export async function tryTheService({ charge, amount, email }: ServiceTry): Promise<void> {
  using payments = new PaymentsClient();
  const expect = { amount, currency: 'GHS' };
  aside(`${process.env.PAYMENTS_BASE_URL}, mode of the key: ${payments.mode}`);

  heading('A payment by checkout page');
  const started = await payments.initialize({ ...expect, customer_email: email });
  line(`${started.reference}: open ${started.checkout_url} and pay, decline or leave it`);
  const now = await payments.verify(started.reference, { expect });
  line(`verified: ${now.status}`);
  await waitAndTell(payments, started.reference, { expect });

  if (!charge)
    return aside('no number is charged without --charge --phone <number> --network <mtn|telecel|airteltigo>');
  heading('A Mobile Money charge');
  const startedAt = Date.now();
  const charged = await payments.chargeMobileMoney({
    ...expect,
    customer_email: email,
    ...charge,
  });
  line(`${charged.reference}: ${charged.message} (${charged.status})`);
  await waitAndTell(payments, charged.reference, { expect, startedAt });
}

async function waitAndTell(
  payments: PaymentsClient,
  reference: string,
  options: { expect: { amount: string; currency: string }; startedAt?: number },
): Promise<void> {
  const progress = progressLine();
  try {
    const wait = payments.waitForFinalStatus(reference, {
      ...options,
      timeout: 180_000,
      onPoll: progress.onPoll,
    });
    const { status } = await wait.finally(progress.end);
    line(`final status: ${status}`);
  } catch (error) {
    if (!(error instanceof WaitTimeoutError)) throw error;
    line(error.message);
  }
}
