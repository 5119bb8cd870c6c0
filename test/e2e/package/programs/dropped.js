// A charge against each service that drops its connection. It runs as an ES module on every runtime.

const customer_email = 'ama@example.com';
const charge = { amount: '25.50', customer_email, phone: '0241234567', network: 'mtn' };

/** Charges each service once, with and without a journal as its case says; the outcomes, in the order of the cases. */
export function chargeEach({ main, journals, options = {} }, cases, apiKey) {
  const chargeOnce = async ({ baseUrl, connection, hasJournal, timeout }) => {
    const journal = hasJournal ? { journal: journals.memoryJournal() } : {};
    const payments = new main.PaymentsClient({ baseUrl, apiKey, ...journal, ...options });
    const send = (key, limits) =>
      payments.chargeMobileMoney(charge, hasJournal ? { idempotencyKey: key, ...limits } : limits);

    // A reset might overtake the response before it: what counts here is the charge that follows.
    if (connection === 'reused after a read') await outcomeOf(payments.verify('TXN-8f2c61d0'));
    if (connection === 'reused after a charge') await outcomeOf(send('before', {}));
    const outcome = await outcomeOf(send('order-17', { timeout }));
    const isOpen = outcome === 'unknown' || outcome === 'charged';
    return [outcome, hasJournal && isOpen ? await outcomeOf(send('order-17', { timeout })) : outcome];
  };
  return Promise.all(cases.map(chargeOnce));
}

const outcomeOf = (result) =>
  result.then(
    () => 'charged',
    (error) => error.outcome ?? String(error),
  );
