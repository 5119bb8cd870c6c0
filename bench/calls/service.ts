import { createServer } from 'node:http';

/** Responds to every GET as docs/reference/service.md, "Read the status", describes. It is a process of its own, so that its CPU is not counted. */
const service = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const [reference] = request.url?.split('/').at(-1)?.split('?') ?? [];
  const data = {
    reference,
    status: 'success',
    amount: '25.50',
    currency: 'GHS',
    customer_email: 'ama@example.com',
    paid_at: '2026-11-21T10:15:00+00:00',
  };
  // Mollie's client reads only what names a resource of theirs.
  const named = { resource: 'payment', status: true, message: 'Transaction retrieved', data };
  const body = JSON.stringify(named);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
});

service.listen(0, '127.0.0.1', () => process.send?.(service.address()));
process.on('disconnect', () => process.exit());
