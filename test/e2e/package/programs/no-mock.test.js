// A merchant's test against the sandbox, which needs no MSW.

let sandbox;
let payments;

beforeAll(async () => {
  sandbox = await startSandbox();
  payments = new PaymentsClient({ baseUrl: sandbox.baseUrl, apiKey: sandbox.liveKey });
});
afterAll(() => sandbox.close());

test('a payment is made', async () => {
  const { reference } = await payments.initialize({ amount: '25.50', customer_email: 'ama@example.com' });
  sandbox.approve(reference);
  expect((await payments.waitForFinalStatus(reference)).status).toBe('success');
});

test('an error is told by its class', async () => {
  await expect(payments.verify('TXN-none')).rejects.toBeInstanceOf(NotFoundError);
  await expect(payments.initialize({ amount: 0, customer_email: '' })).rejects.toThrow(InvalidInputError);
});
