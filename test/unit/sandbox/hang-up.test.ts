import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { start } from './start.ts';

const length = 'Content-Length: 500';
const chunked = 'Transfer-Encoding: chunked';

test.each([
  ['/api/v1/transactions/initialize', length],
  ['/api/v1/transactions/initialize', chunked],
  ['/phone', length],
  ['/phone', chunked],
])('a client that hangs up in the middle of a body costs no stack: %s, %s', async (path, framing) => {
  const complaints = [vi.spyOn(console, 'error'), vi.spyOn(process.stderr, 'write')];
  onTestFinished(() => {
    for (const complaint of complaints) complaint.mockRestore();
  });
  const { sandbox } = await start();
  const { hostname, port, origin } = new URL(sandbox.url);
  const client = connect(Number(port), hostname);
  const form = 'Content-Type: application/x-www-form-urlencoded';
  // The server says "100 Continue" once it waits for the body.
  const head = [`POST ${path} HTTP/1.1`, `Host: ${hostname}`, `Origin: ${origin}`, form, framing];
  client.write([...head, 'Expect: 100-continue', '', ''].join('\r\n'));
  await once(client, 'data');
  client.end('3\r\nabc\r\n');
  client.resume();
  await once(client, 'close');
  await sandbox.close();
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
  for (const complaint of complaints) expect(complaint.mock.calls).toEqual([]);
});
