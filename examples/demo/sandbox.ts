import assert from 'node:assert/strict';
import { OutcomeUnknownError, PaymentsClient } from 'payment-collection-client';
import type { Sandbox } from 'payment-collection-client/sandbox';
import { printHeading, printLine, printNote, startProgressLine } from './screen.ts';

const customer = { customer_email: 'ama@example.com', phone: '024 412 3456', network: 'mtn' } as const;

/** Makes four payments against the sandbox that show what a merchant meets. It asserts each outcome. */
export async function runSandboxDemo(sandbox: Sandbox): Promise<void> {
  using payments = new PaymentsClient({
    baseUrl: sandbox.baseUrl,
    // The live key, because charging Mobile Money works in live mode only.
    apiKey: sandbox.liveKey,
    // Faster than in a shop, so that the demo is short.
    polling: { initialDelay: 1_000, minDelay: 1_000, maxDelay: 2_000 },
  });
  printNote(`payment-collection-client/sandbox listens on ${sandbox.baseUrl}`);
  await payOnCheckoutPage(payments, sandbox);
  await approveOnPhone(payments, sandbox);
  await declineOnPhone(payments, sandbox);
  await loseResponse(payments, sandbox);
  sandbox.expectNoDoubleCharge();
}

async function payOnCheckoutPage(payments: PaymentsClient, sandbox: Sandbox): Promise<void> {
  printHeading('1. A checkout payment');
  const order = { amount: '25.50', currency: 'GHS' };
  const { reference, checkout_url } = await payments.initialize({
    ...order,
    customer_email: customer.customer_email,
  });
  printLine(`${reference} was started: redirect the customer to ${checkout_url}`);
  sandbox.approve(reference);
  printLine('the customer pays there');
  const transaction = await payments.verify(reference, { expect: order });
  assert.equal(transaction.status, 'success');
  printLine(
    `verified: ${transaction.status}, ${transaction.amount} ${transaction.currency}, paid at ${transaction.paid_at}`,
  );
}

async function approveOnPhone(payments: PaymentsClient, sandbox: Sandbox): Promise<void> {
  printHeading('2. A Mobile Money charge, approved after a few seconds');
  sandbox.settleAfter('next', 4_500, 'success');
  assert.equal(await chargeAndWait(payments, '40.00'), 'success');
}

async function declineOnPhone(payments: PaymentsClient, sandbox: Sandbox): Promise<void> {
  printHeading('3. A charge that the customer declines');
  sandbox.settleAfter('next', 1_500, 'failed');
  assert.equal(await chargeAndWait(payments, '60.00'), 'failed');
  printLine('a declined payment is a result, not an error: release the order');
}

async function chargeAndWait(payments: PaymentsClient, amount: string): Promise<string> {
  const startedAt = Date.now();
  const charge = await payments.chargeMobileMoney({ amount, ...customer });
  printLine(`${charge.reference}: ${charge.message} (${charge.status})`);
  const progress = startProgressLine();
  const expect = { amount, currency: 'GHS' };
  const transaction = await payments
    .waitForFinalStatus(charge.reference, { startedAt, expect, onPoll: progress.onPoll })
    .finally(progress.end);
  printLine(
    `final status: ${transaction.status}, ${((Date.now() - startedAt) / 1000).toFixed(1)} s after the charge`,
  );
  return transaction.status;
}

async function loseResponse(payments: PaymentsClient, sandbox: Sandbox): Promise<void> {
  printHeading('4. A charge whose response is lost after the service accepted it');
  sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
  const charged = sandbox.charges.length;
  const error = await payments
    .chargeMobileMoney({ amount: '80.00', ...customer })
    .catch((thrown: unknown) => thrown);
  assert(error instanceof OutcomeUnknownError);
  printLine(`${error.name}, outcome: ${error.outcome}, retryable: ${error.retryable}`);
  printLine(error.message);
  assert.equal(sandbox.charges.length - charged, 1);
  printLine('the service made one charge. It was not sent again, so the customer pays once');
}
