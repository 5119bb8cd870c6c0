import { expect, test } from 'vitest';
import {
  ConnectionError,
  OutcomeUnknownError,
  type PaymentsClient,
  UnexpectedResponseError,
} from '../../../src/index.ts';
import { callOperation, operationNames, REFERENCE } from '../../helpers/allowed-ends.ts';
import { startRawService } from '../../helpers/raw-service.ts';
import { catchError, charge, sendJson, startService, successBodies } from '../../helpers/service.ts';

/** Creates a client of a service that responds to every request with exactly these bytes. */
async function createClientOf(bytes: string): Promise<PaymentsClient> {
  return (await startRawService((socket) => socket.end(bytes))).client();
}

const whole = JSON.stringify(successBodies.chargeMobileMoney());
const sized = `content-length: ${whole.length}\r\n\r\n${whole}`;

test.each([
  ['204 without a body', 'HTTP/1.1 204 No Content\r\n\r\n'],
  ['205 without a body', 'HTTP/1.1 205 Reset Content\r\ncontent-length: 0\r\n\r\n'],
  ['200 with content-length 0', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'],
  [
    '206 with a part of the body',
    'HTTP/1.1 206 Partial Content\r\ncontent-length: 15\r\n\r\n{"status":true,',
  ],
])('reports unknown after %s', async (_, bytes) => {
  const failure = await catchError((await createClientOf(bytes)).chargeMobileMoney(charge));
  expect(failure).toBeInstanceOf(OutcomeUnknownError);
  expect(failure).toHaveProperty('cause', expect.any(UnexpectedResponseError));
  const read = await catchError((await createClientOf(bytes)).verify(REFERENCE));
  expect(read).toBeInstanceOf(UnexpectedResponseError);
  expect(read).toMatchObject({ retryable: true, outcome: null });
});

test.each([
  ['a body shorter than its content-length', `HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n${whole}`],
  ['a chunked body that does not end', `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"sta`],
  ['a chunk of no size', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n'],
  ['two different content-lengths', `HTTP/1.1 200 OK\r\ncontent-length: 5\r\n${sized}`],
  ['no status line', `hello\r\n${sized}`],
  ['a status line that is none', `HTTP/1.1 abc OK\r\n${sized}`],
  [
    'a switch to another protocol',
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
  ],
  ['headers without end', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(50_000)}`],
  // RFC 9110 allows it, Node's fetch does not: no Expect header asked for it.
  ['an unrequested 100 Continue', `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n${sized}`],
  ['nothing but 1xx', 'HTTP/1.1 103 Early Hints\r\nlink: </>\r\n\r\n'],
])('reports unknown, and retries a read, after %s', async (_, bytes) => {
  const failure = await catchError((await createClientOf(bytes)).chargeMobileMoney(charge));
  expect(failure).toBeInstanceOf(OutcomeUnknownError);
  expect(failure).toHaveProperty('cause', expect.any(ConnectionError));
  expect(failure).toMatchObject({ retryable: false, cause: { outcome: 'unknown', retryable: false } });
  const read = await catchError((await createClientOf(bytes)).verify(REFERENCE));
  expect(read).toBeInstanceOf(ConnectionError);
  expect(read).toMatchObject({ retryable: true, outcome: null });
});

test.each(operationNames)('%s ignores informational responses before the final one', async (operation) => {
  const service = await startService((response) => {
    response.writeProcessing();
    response.writeEarlyHints({ link: '</style.css>; rel=preload' });
    sendJson(response, 200, successBodies[operation]());
  });
  expect(await callOperation(service.client(), operation)).toMatchObject({
    value: { reference: REFERENCE },
  });
});

test.each([300, 301, 302, 303, 304, 305, 307, 308, 399])(
  'never follows a redirect %i: neither key nor charge goes elsewhere',
  async (status) => {
    const elsewhere = await startService();
    const targets = [`${elsewhere.baseUrl}/transactions`, '/api/v1/other', '//127.0.0.1/', ''];
    const service = await startService((response, _, count) => {
      sendJson(response, status, successBodies.chargeMobileMoney(), {
        location: targets[count % targets.length] ?? '',
      });
    });
    const client = service.client({ maxRetries: 2 });
    for (const _ of targets) {
      const failure = await catchError(client.chargeMobileMoney(charge));
      expect(failure).toBeInstanceOf(OutcomeUnknownError);
      expect(failure).toMatchObject({ outcome: 'unknown', cause: { code: 'unexpected_response', status } });
    }
    for (const _ of targets) {
      const failure = await catchError(client.verify(REFERENCE));
      expect(failure).toBeInstanceOf(UnexpectedResponseError);
      expect(failure).toMatchObject({
        status,
        retryable: false,
        message: expect.stringContaining('never followed'),
      });
    }
    expect(service.requests).toHaveLength(2 * targets.length);
    expect(elsewhere.requests).toEqual([]);
  },
);
