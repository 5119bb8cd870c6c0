import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { chooseSize } from '../../helpers/sized.ts';
import { startTestSandbox } from './start-sandbox.ts';

const methods = chooseSize(
  ['GET', 'POST', 'OPTIONS', 'TRACE'],
  ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'PROPFIND'],
);

const paths = [
  '/',
  '/nowhere',
  '/phone',
  '/faults',
  '/faults/stop',
  '/events/phone',
  '/events/dashboard',
  '/checkout/TXN-X',
  '/checkout/%E0%A4%A',
  '/assets/x',
  '/%',
  '/api/v1',
  '/api/v1/transactions/initialize',
  '/api/v1/transactions/charge-mobile-money',
  '/api/v1/transactions/verify/TXN-X',
  '/api/v1/transactions/verify/%',
];

/** The ways in which a request can have no body. */
const framings: [what: string, headers: string[], end: string][] = [
  ['neither length nor encoding', [], ''],
  ['Content-Length: 0', ['Content-Length: 0'], ''],
  ['an empty chunked body', ['Transfer-Encoding: chunked'], '0\r\n\r\n'],
];

const contentTypes: [what: string, headers: string[]][] = [
  ['no Content-Type', []],
  ['JSON', ['Content-Type: application/json']],
  ['a form', ['Content-Type: application/x-www-form-urlencoded']],
  ['a multipart form without its boundary', ['Content-Type: multipart/form-data']],
  ['a multipart form', ['Content-Type: multipart/form-data; boundary=x']],
  ['an invalid Content-Type', ['Content-Type: ;;;']],
];

/** Sends a request that no HTTP client would write, and returns the status of the response. */
async function sendRaw(sandbox: { readonly url: string }, head: string[], end: string): Promise<number> {
  const { host, hostname, port } = new URL(sandbox.url);
  const socket = connect(Number(port), hostname);
  try {
    const [first = '', ...headers] = head;
    socket.write([first, `Host: ${host}`, 'Connection: close', ...headers, '', end].join('\r\n'));
    const [bytes] = await once(socket, 'data');
    return Number(/^HTTP\/1\.1 (\d{3}) /.exec(String(bytes))?.[1]);
  } finally {
    socket.destroy();
  }
}

for (const [framing, length, end] of framings) {
  test.each(contentTypes)(`never responds with 500 to a request with ${framing}, %s`, async (_, type) => {
    const { sandbox } = await startTestSandbox();
    const own = [`Authorization: Bearer ${sandbox.testKey}`, `Origin: ${sandbox.url}`];
    const wrong: string[] = [];
    for (const method of methods) {
      for (const path of paths) {
        const status = await sendRaw(
          sandbox,
          [`${method} ${path} HTTP/1.1`, ...own, ...length, ...type],
          end,
        );
        if (!(status >= 200 && status < 500)) wrong.push(`${method} ${path}: ${status}`);
      }
    }
    expect(wrong).toEqual([]);
  });
}

const initialize = '/api/v1/transactions/initialize';

test.each([
  ['POST', initialize, [], 415],
  ['POST', initialize, ['Content-Type: application/json'], 400],
  ['PUT', initialize, [], 405],
  ['DELETE', initialize, [], 405],
  ['OPTIONS', initialize, [], 405],
  ['TRACE', initialize, [], 405],
  ['POST', '/api/v1/transactions/verify/TXN-X', [], 405],
  ['DELETE', '/api/v1/nowhere', [], 404],
  ['OPTIONS', '/nowhere', [], 404],
  ['POST', '/faults', ['Content-Type: multipart/form-data'], 400],
  ['POST', '/phone', [], 400],
  ['POST', '/checkout/TXN-X', [], 404],
] satisfies [string, string, string[], number][])(
  'responds to a %s %s without a body and with %j with %d',
  async (method, path, type, expected) => {
    const { sandbox } = await startTestSandbox();
    const own = [`Authorization: Bearer ${sandbox.testKey}`, `Origin: ${sandbox.url}`];
    expect(await sendRaw(sandbox, [`${method} ${path} HTTP/1.1`, ...own, ...type], '')).toBe(expected);
  },
);
