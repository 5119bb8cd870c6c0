import { createServer } from 'node:http';

/** A service whose payments stay pending. It runs in its own process, so that its CPU is not counted. */
const service = createServer((request, response) => {
  const reference = request.url?.split('/').at(-1);
  const data = {
    reference,
    status: 'pending',
    amount: '25.50',
    currency: 'GHS',
    customer_email: 'ama@example.com',
    paid_at: null,
  };
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ status: true, message: 'Transaction retrieved', data }));
});

service.listen(0, '127.0.0.1', () => process.send?.(service.address()));
