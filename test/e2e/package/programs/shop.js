// What every merchant does. It runs as an ES module and as CommonJS: the test puts what loads the package before it.

const customer_email = 'ama@example.com';
const input = { amount: '25.50', customer_email, currency: 'GHS' };
const charge = { amount: 25.5, customer_email, phone: '0241234567', network: 'mtn' };

/** Starts a payment, charges under a key twice, waits, and is refused; all that it saw, as JSON. */
export async function shop({ main, schedule, journals }, baseUrl, apiKey) {
  const payments = new main.PaymentsClient({ baseUrl, apiKey, journal: journals.memoryJournal() });
  const started = await payments.initialize(input);
  const first = await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-17' });
  const again = await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-17' });
  let polls = 0;
  const paid = await payments.waitForFinalStatus(first.reference, {
    initialDelay: 0,
    minDelay: 1,
    maxDelay: 10,
    expect: { amount: '25.50', currency: 'GHS' },
    onPoll: () => {
      polls += 1;
    },
  });
  const missing = await payments.verify('TXN-none').catch((error) => error);
  const invalid = await payments
    .chargeMobileMoney({ ...charge, amount: 0 }, { idempotencyKey: null })
    .catch((error) => error);
  payments.close();
  return {
    checkout: started.checkout_url.endsWith(`/checkout/${started.reference}`),
    charged: first.status,
    again: again.reference === first.reference,
    polls,
    paid: [paid.status, paid.amount, paid.reference === first.reference],
    missing: [missing.name, missing.status, ...instances(main, missing)],
    invalid: [invalid.name, invalid.outcome, ...instances(main, invalid)],
    schedule: [schedule.isFinal('success'), schedule.nextDelay({ elapsed: 100_000 })],
  };
}

function instances({ NotFoundError, InvalidInputError, PaymentsError }, error) {
  return [NotFoundError, InvalidInputError, PaymentsError].map((known) => error instanceof known);
}
