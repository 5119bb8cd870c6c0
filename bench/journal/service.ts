import { createServer } from 'node:http';

/** A service that accepts every charge, in a process of its own: its CPU is not the client's. */
let taken = 0;
const service = createServer((request, response) => {
  request.resume().once('end', () => {
    const reference = `TXN-${++taken}`;
    const data = { reference, status: 'processing', amount: '25.50', currency: 'GHS' };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ status: true, message: 'A prompt has been sent.', data }));
  });
});

// On a busy machine, a connection can be idle for longer than the 5 s after which Node would close it.
service.keepAliveTimeout = 600_000;
process.on('disconnect', () => process.exit());
service.listen(0, '127.0.0.1', () => process.send?.(service.address()));
