import assert from 'node:assert/strict';
import { OutcomeUnknownError, PaymentsClient } from 'payment-collection-client';
import type { MockPayments } from 'payment-collection-client/testing';
import { aside, heading, line, progressLine } from './screen.ts';

const customer = { customer_email: 'ama@example.com', phone: '024 412 3456', network: 'mtn' } as const;

/** Four payments that show what a merchant meets, against the mock. What is shown is also checked. */
export async function tourOfTheMock(mock: MockPayments): Promise<void> {
  using payments = new PaymentsClient({
    baseUrl: mock.baseUrl,
    apiKey: mock.apiKey,
    // Faster than a shop would ask, so that the tour is short.
    polling: { initialDelay: 1_000, minDelay: 1_000, maxDelay: 2_000 },
  });
  aside(`the mock of payment-collection-client/testing listens on ${mock.baseUrl}`);
  await paysOnTheCheckoutPage(payments, mock);
  await approvesOnThePhone(payments, mock);
  await declinesOnThePhone(payments, mock);
  await answerIsLost(payments, mock);
  mock.expectNoDoubleCharge();
}

async function paysOnTheCheckoutPage(payments: PaymentsClient, mock: MockPayments): Promise<void> {
  heading('1. A payment by checkout page');
  const order = { amount: '25.50', currency: 'GHS' };
  const { reference, checkout_url } = await payments.initialize({
    ...order,
    customer_email: customer.customer_email,
  });
  line(`${reference} was started; the customer is sent to ${checkout_url}`);
  mock.approve(reference);
  line('the customer pays there');
  const transaction = await payments.verify(reference, { expect: order });
  assert.equal(transaction.status, 'success');
  line(
    `verified: ${transaction.status}, ${transaction.amount} ${transaction.currency}, paid at ${transaction.paid_at}`,
  );
}

async function approvesOnThePhone(payments: PaymentsClient, mock: MockPayments): Promise<void> {
  heading('2. A Mobile Money charge, approved after a few seconds');
  mock.settleAfter('next', 4_500, 'success');
  assert.equal(await chargeAndWait(payments, '40.00'), 'success');
}

async function declinesOnThePhone(payments: PaymentsClient, mock: MockPayments): Promise<void> {
  heading('3. A charge that the customer declines');
  mock.settleAfter('next', 1_500, 'failed');
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

async function answerIsLost(payments: PaymentsClient, mock: MockPayments): Promise<void> {
  heading('4. A charge that was accepted, but whose answer is lost on the way');
  mock.fault('chargeMobileMoney', { kind: 'answerLost' });
  const charged = mock.charges.length;
  const error = await payments
    .chargeMobileMoney({ amount: '80.00', ...customer })
    .catch((thrown: unknown) => thrown);
  assert(error instanceof OutcomeUnknownError);
  line(`${error.name}, outcome: ${error.outcome}, retryable: ${error.retryable}`);
  line(error.message);
  assert.equal(mock.charges.length - charged, 1);
  line('the service made one charge. It was not sent again, so the customer pays once');
}
