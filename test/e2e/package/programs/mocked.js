// A test of a merchant's, without a test runner. The line that loads what it needs is put before it.

export async function mocked({ PaymentsClient, OutcomeUnknownError, createMockPayments, setupServer }) {
  const mock = createMockPayments();
  const server = setupServer(...mock.handlers);
  server.listen({ onUnhandledRequest: 'error' });
  try {
    const payments = new PaymentsClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
    mock.fault('chargeMobileMoney', { kind: 'responseLost' });
    const error = await payments
      .chargeMobileMoney({
        amount: 30,
        customer_email: 'ama@example.com',
        phone: '0241234567',
        network: 'telecel',
      })
      .catch((lost) => lost);
    const [{ reference }] = mock.charges;
    mock.approve(reference);
    const { status } = await payments.waitForFinalStatus(reference);
    return [error instanceof OutcomeUnknownError, error.outcome, status];
  } finally {
    server.close();
  }
}
