// A merchant's test, for a runner that has `test`, `expect` and the hooks as globals.

const mock = createMockPayments();
const server = setupServer(...mock.handlers);
const payments = new PaymentsClient({ baseUrl: mock.baseUrl, apiKey: mock.apiKey });
const charge = { amount: 30, customer_email: 'ama@example.com', phone: '0241234567', network: 'telecel' };

beforeAll(() => server.listen({ onUnhandledRequest: 'error' }));
afterEach(() => mock.reset());
afterAll(() => server.close());

test('a charge is approved', async () => {
  const { reference } = await payments.chargeMobileMoney(charge);
  mock.approve(reference);
  expect((await payments.waitForFinalStatus(reference)).status).toBe('success');
});

test('an answer that is lost leaves the charge in doubt', async () => {
  mock.fault('chargeMobileMoney', { kind: 'responseLost' });
  await expect(payments.chargeMobileMoney(charge)).rejects.toBeInstanceOf(OutcomeUnknownError);
  expect(mock.charges).toHaveLength(1);
});
