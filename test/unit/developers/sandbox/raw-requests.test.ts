import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { chooseSize } from '../../../helpers/sized.ts';
import { startTestSandbox } from './start-sandbox.ts';

const initialize = '/api/v1/transactions/initialize';
const form = 'Content-Type: application/x-www-form-urlencoded';

/** Writes a request that no HTTP client would write. */
function writeRaw(sandbox: { readonly url: string; readonly testKey: string }, head: string[], end = '') {
  const { host, hostname, port, origin } = new URL(sandbox.url);
  const [first = '', ...headers] = head;
  const own = [`Host: ${host}`, `Origin: ${origin}`, `Authorization: Bearer ${sandbox.testKey}`];
  const socket = connect(Number(port), hostname);
  socket.write([first, ...own, ...headers, '', end].join('\r\n'));
  return socket;
}

/** Returns the status of the response to such a request. */
async function sendRaw(...args: Parameters<typeof writeRaw>): Promise<number> {
  const [sandbox, [first = '', ...headers], end] = args;
  const socket = writeRaw(sandbox, [first, 'Connection: close', ...headers], end);
  const [bytes] = await once(socket, 'data');
  socket.destroy();
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(String(bytes))?.[1]);
}

const methods = chooseSize(
  ['GET', 'POST', 'OPTIONS', 'TRACE'],
  ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'PROPFIND'],
);

const paths = [
  ...['/', '/%', '/nowhere', '/phone', '/faults', '/faults/stop', '/events/phone', '/events/dashboard'],
  ...['/checkout/TXN-X', '/checkout/%E0%A4%A', '/assets/x', '/api/v1', initialize],
  ...['charge-mobile-money', 'verify/TXN-X', 'verify/%'].map((path) => `/api/v1/transactions/${path}`),
];

test.each([
  ['neither length nor encoding', [], ''],
  ['Content-Length: 0', ['Content-Length: 0'], ''],
  ['an empty chunked body', ['Transfer-Encoding: chunked'], '0\r\n\r\n'],
])('never responds with 500 to a request with %s', async (_, framing, end) => {
  const { sandbox } = await startTestSandbox();
  const types = [
    'application/json',
    form.slice(14),
    'multipart/form-data',
    'multipart/form-data; boundary=x',
    ';;;',
  ];
  const wrong: string[] = [];
  for (const type of [[], ...types.map((name) => [`Content-Type: ${name}`])])
    for (const method of methods)
      for (const path of paths) {
        const status = await sendRaw(sandbox, [`${method} ${path} HTTP/1.1`, ...framing, ...type], end);
        if (!(status >= 200 && status < 500)) wrong.push(`${method} ${path} ${type}: ${status}`);
      }
  expect(wrong).toEqual([]);
});
