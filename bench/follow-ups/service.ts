import { createServer } from 'node:net';
import { serveParent } from './child.ts';

/**
 * A service that returns the status of each payment, in a process of its own. It is on bare sockets, so that it takes
 * little of the CPU that the measured processes share with it.
 */

/** How often each payment was checked, by the number in its reference. */
let checks = new Uint8Array();
let total = 0;
let finalEvery = 0;
let latency = 0;
let watch = { total: Number.POSITIVE_INFINITY, resolve: () => {} };

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ';
const REQUEST = /^GET \S+\/TXN-(\d+) /;

const service = createServer((socket) => {
  let received = '';
  socket.setNoDelay(true);
  socket.on('error', () => {});
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    received += chunk;
    if (!received.endsWith('\r\n\r\n')) return;
    const [, digits = ''] = REQUEST.exec(received) ?? [];
    received = '';
    const response = respond(digits);
    if (latency === 0) socket.write(response);
    else setTimeout(() => socket.write(response), latency);
  });
});

function respond(digits: string): string {
  const number = Number(digits);
  checks[number] = (checks[number] ?? 0) + 1;
  total += 1;
  if (total === watch.total) watch.resolve();
  const isFinal = finalEvery > 0 && number % finalEvery === 0;
  const status = isFinal ? 'success' : 'pending';
  const paid = isFinal ? '"2026-11-22T09:00:00Z"' : 'null';
  const data = `{"reference":"TXN-${digits}","status":"${status}","amount":"25.50","currency":"GHS","customer_email":"ama@example.com","paid_at":${paid}}`;
  const body = `{"status":true,"message":"Transaction retrieved","data":${data}}`;
  return `${HEAD}${body.length}\r\n\r\n${body}`;
}

service.listen(0, '127.0.0.1', () => {
  serveParent({
    getPort: () => Object(service.address()).port,
    reset(value) {
      const { payments, finalEvery: every, latency: milliseconds = 0 } = Object(value);
      checks = new Uint8Array(payments);
      total = 0;
      finalEvery = every;
      latency = milliseconds;
    },
    /** Resolves once as many checks were made. */
    waitFor: (count) =>
      new Promise<void>((resolve) => {
        watch = { total: Number(count), resolve };
        if (total >= watch.total) resolve();
      }),
    readCounts: () => ({ total, most: checks.reduce((most, count) => Math.max(most, count), 0) }),
  });
});
