import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { charge, startTestSandbox } from './start-sandbox.ts';

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

test('marks a response that a killed client did not receive', async () => {
  const { sandbox, page } = await startTestSandbox();
  sandbox.fault('chargeMobileMoney', { kind: 'slowBody', interval: 10_000 });
  const { hostname, port } = new URL(sandbox.url);
  const client = connect(Number(port), hostname);
  const body = JSON.stringify({ ...charge, amount: 25.5 });
  const path = '/api/v1/transactions/charge-mobile-money';
  client.write(
    [
      `POST ${path} HTTP/1.1`,
      `Host: ${hostname}`,
      `Authorization: Bearer ${sandbox.liveKey}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  );
  await vi.waitFor(() => expect(sandbox.charges).toHaveLength(1));
  expect(await page('/')).not.toContain('response lost');
  client.destroy();
  await vi.waitFor(async () => {
    const markup = await page('/');
    expect(markup).toContain('response lost: the shop does not know this charge');
    expect(markup).toContain('connection broken');
  });
});
