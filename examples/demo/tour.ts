import assert from 'node:assert/strict';
import { OutcomeUnknownError, PaymentsClient } from 'payment-collection-client';
import type { Sandbox } from 'payment-collection-client/sandbox';
import { aside, heading, line, progressLine } from './screen.ts';

const customer = { customer_email: 'ama@example.com', phone: '024 412 3456', network: 'mtn' } as const;

/** Four payments that show what a merchant meets, against the sandbox. What is shown is also checked. */
export async function tourOfTheSandbox(sandbox: Sandbox): Promise<void> {
  using payments = new PaymentsClient({
    baseUrl: sandbox.baseUrl,
    // The live key: Mobile Money is charged in live mode only.
    apiKey: sandbox.liveKey,
    // Faster than a shop would ask, so that the tour is short.
    polling: { initialDelay: 1_000, minDelay: 1_000, maxDelay: 2_000 },
  });
  aside(`payment-collection-client/sandbox listens on ${sandbox.baseUrl}`);
  await paysOnTheCheckoutPage(payments, sandbox);
  await approvesOnThePhone(payments, sandbox);
  await declinesOnThePhone(payments, sandbox);
  await answerIsLost(payments, sandbox);
  sandbox.expectNoDoubleCharge();
}

async function paysOnTheCheckoutPage(payments: PaymentsClient, sandbox: Sandbox): Promise<void> {
  heading('1. A payment by checkout page');
  const order = { amount: '25.50', currency: 'GHS' };
  const { reference, checkout_url } = await payments.initialize({
    ...order,
    customer_email: customer.customer_email,
  });
  line(`${reference} was started; the customer is sent to ${checkout_url}`);
  sandbox.approve(reference);
  line('the customer pays there');
  const transaction = await payments.verify(reference, { expect: order });
  assert.equal(transaction.status, 'success');
  line(
    `verified: ${transaction.status}, ${transaction.amount} ${transaction.currency}, paid at ${transaction.paid_at}`,
  );
}

async function approvesOnThePhone(payments: PaymentsClient, sandbox: Sandbox): Promise<void> {
  heading('2. A Mobile Money charge, approved after a few seconds');
  sandbox.settleAfter('next', 4_500, 'success');
  assert.equal(await chargeAndWait(payments, '40.00'), 'success');
}

async function declinesOnThePhone(payments: PaymentsClient, sandbox: Sandbox): Promise<void> {
  heading('3. A charge that the customer declines');
  sandbox.settleAfter('next', 1_500, 'failed');
  assert.equal(await chargeAndWait(payments, '60.00'), 'failed');
  line('a declined payment is a result, not an exception: release the order');
}

async function chargeAndWait(payments: PaymentsClient, amount: string): Promise<string> {
  const startedAt = Date.now();
  const charge = await payments.chargeMobileMoney({ amount, ...customer });
  line(`${charge.reference}: ${charge.message} (${charge.status})`);
  const progress = progressLine();
  const expect = { amount, currency: 'GHS' };
  const transaction = await payments
    .waitForFinalStatus(charge.reference, { startedAt, expect, onPoll: progress.onPoll })
    .finally(progress.end);
  line(
    `final status: ${transaction.status}, ${((Date.now() - startedAt) / 1000).toFixed(1)} s after the charge`,
  );
  return transaction.status;
}

async function answerIsLost(payments: PaymentsClient, sandbox: Sandbox): Promise<void> {
  heading('4. A charge that was accepted, but whose answer is lost on the way');
  sandbox.fault('chargeMobileMoney', { kind: 'responseLost' });
  const charged = sandbox.charges.length;
  const error = await payments
    .chargeMobileMoney({ amount: '80.00', ...customer })
    .catch((thrown: unknown) => thrown);
  assert(error instanceof OutcomeUnknownError);
  line(`${error.name}, outcome: ${error.outcome}, retryable: ${error.retryable}`);
  line(error.message);
  assert.equal(sandbox.charges.length - charged, 1);
  line('the service made one charge. It was not sent again, so the customer pays once');
}
