import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startTestSandbox } from './start-sandbox.ts';

const length = 'Content-Length: 500';
const chunked = 'Transfer-Encoding: chunked';

test.each([
  ['/api/v1/transactions/initialize', length],
  ['/api/v1/transactions/initialize', chunked],
  ['/phone', length],
  ['/phone', chunked],
])('prints no error when a client disconnects in a body: %s, %s', async (path, framing) => {
  const outputs = [vi.spyOn(console, 'error'), vi.spyOn(process.stderr, 'write')];
  onTestFinished(() => {
    for (const output of outputs) output.mockRestore();
  });
  const { sandbox } = await startTestSandbox();
  const { hostname, port, origin } = new URL(sandbox.url);
  const client = connect(Number(port), hostname);
  const form = 'Content-Type: application/x-www-form-urlencoded';
  // The server sends "100 Continue" once it waits for the body.
  const head = [`POST ${path} HTTP/1.1`, `Host: ${hostname}`, `Origin: ${origin}`, form, framing];
  client.write([...head, 'Expect: 100-continue', '', ''].join('\r\n'));
  await once(client, 'data');
  client.end('3\r\nabc\r\n');
  client.resume();
  await once(client, 'close');
  await sandbox.close();
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
  for (const output of outputs) expect(output.mock.calls).toEqual([]);
});
