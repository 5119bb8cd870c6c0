import { type Network, PaymentsClient, WaitTimeoutError } from 'payment-collection-client';
import { printHeading, printLine, printNote, startProgressLine } from './screen.ts';

export interface ServiceDemo {
  amount: string;
  email: string;
  /** The phone to charge. `null` charges none. */
  charge: { phone: string; network: Network } | null;
}

/** Makes the same calls against the service of the environment. It charges a phone only with `--charge`. */
export async function runServiceDemo({ charge, amount, email }: ServiceDemo): Promise<void> {
  await using payments = new PaymentsClient();
  const expect = { amount, currency: 'GHS' };
  printNote(`${process.env.PAYMENTS_BASE_URL}, mode of the key: ${payments.mode}`);

  printHeading('A checkout payment');
  const started = await payments.initialize({ ...expect, customer_email: email });
  printLine(`${started.reference}: open ${started.checkout_url} and pay, decline or leave`);
  const current = await payments.verify(started.reference, { expect });
  printLine(`verified: ${current.status}`);
  await waitAndPrint(payments, started.reference, { expect });

  if (!charge)
    return printNote(
      'no phone is charged without --charge --phone <number> --network <mtn|telecel|airteltigo>',
    );
  printHeading('A Mobile Money charge');
  const startedAt = Date.now();
  const charged = await payments.chargeMobileMoney({
    ...expect,
    customer_email: email,
    ...charge,
  });
  printLine(`${charged.reference}: ${charged.message} (${charged.status})`);
  await waitAndPrint(payments, charged.reference, { expect, startedAt });
}

async function waitAndPrint(
  payments: PaymentsClient,
  reference: string,
  options: { expect: { amount: string; currency: string }; startedAt?: number },
): Promise<void> {
  const progress = startProgressLine();
  try {
    const wait = payments.waitForFinalStatus(reference, {
      ...options,
      timeout: 180_000,
      onPoll: progress.onPoll,
    });
    const { status } = await wait.finally(progress.end);
    printLine(`final status: ${status}`);
  } catch (error) {
    if (!(error instanceof WaitTimeoutError)) throw error;
    printLine(error.message);
  }
}
