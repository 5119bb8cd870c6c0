import { expect, test } from 'vitest';
import { APIError, OutcomeUnknownError, ServerError } from '../../../src/index.ts';
import { registeredRejections } from '../../helpers/allowed-ends.ts';
import { calls, operationNames, posts, REFERENCE } from '../../helpers/calls.ts';
import { startRawService } from '../../helpers/raw-service.ts';
import { catchError, charge, payment, sendJson, startService, successBodies } from '../../helpers/service.ts';

const ofItsOwn: Record<number, [name: string, code: string]> = {
  400: ['InvalidRequestError', 'invalid_request'],
  401: ['AuthenticationError', 'authentication_error'],
  403: ['PermissionError', 'permission_denied'],
  404: ['NotFoundError', 'not_found'],
  409: ['ConflictError', 'conflict'],
  422: ['InvalidRequestError', 'invalid_request'],
  429: ['RateLimitError', 'rate_limited'],
};

/** What an error says about a status, itself or as the cause of an unknown outcome. */
function describeStatus(status: number, isRead: boolean) {
  if (status < 400) return { name: 'UnexpectedResponseError', code: 'unexpected_response', retryable: false };
  const isTemporary = status === 429 || (isRead && (status >= 500 || status === 408 || status === 425));
  const facts = { retryable: isTemporary, body: { message: 'No.' }, serviceMessage: 'No.' };
  if (status >= 500) return { name: 'ServerError', code: 'server_error', ...facts };
  const [name, code] = ofItsOwn[status] ?? ['APIError', 'api_error'];
  return { name, code, ...facts };
}

function describeOutcome(status: number, isRead: boolean) {
  if (isRead) return null;
  return registeredRejections.includes(status) ? 'rejected' : 'unknown';
}

const claims = { rejected: 'Nothing was charged by this call.', unknown: 'might' };

// fetch hides a 407, and sends again after a 421.
const statuses = Array.from({ length: 300 }, (_, index) => 300 + index).filter(
  (status) => status !== 407 && status !== 421,
);

test.each(operationNames)('judges %s by every status, and follows no redirect', async (operation) => {
  let status = 0;
  const elsewhere = await startService();
  const targets = [`${elsewhere.baseUrl}/transactions`, '/api/v1/other', '//127.0.0.1/', ''];
  const service = await startService((response) => {
    const location = targets[status % targets.length] ?? '';
    sendJson(response, status, { message: 'No.' }, { 'x-request-id': 'req-7', location });
  });
  const client = service.client();
  const isRead = operation === 'verify';
  for (status of statuses) {
    const failure = await catchError(calls[operation](client));
    const outcome = describeOutcome(status, isRead);
    expect(failure, `${status}`).toMatchObject({
      operation,
      outcome,
      requestId: 'req-7',
      ...(outcome === 'unknown' ? { name: 'OutcomeUnknownError', retryable: false } : {}),
    });
    const cause = failure instanceof OutcomeUnknownError ? failure.cause : failure;
    expect(cause).toMatchObject({ ...describeStatus(status, isRead), operation, outcome, status });
    expect([cause instanceof APIError, cause instanceof ServerError]).toEqual([status >= 400, status >= 500]);
    expect(String(failure)).toContain(outcome === null ? '' : claims[outcome]);
    if (status < 400) expect(String(failure)).toContain('never followed');
  }
  expect(service.requests).toHaveLength(statuses.length);
  expect(elsewhere.requests).toEqual([]);
});

test('takes a response for a redirect whose status a browser hides', async () => {
  const hidden = { type: 'opaqueredirect', status: 0, headers: new Headers(), body: null };
  const client = (await startService()).client({ fetch: async () => hidden });
  const redirect = { name: 'UnexpectedResponseError', status: 302, retryable: false };
  expect(await catchError(client.verify(REFERENCE))).toMatchObject(redirect);
});

test('advises about an unknown outcome what fits the operation', async () => {
  const client = (await startService(503)).client();
  expect(String(await catchError(client.chargeMobileMoney(charge)))).toContain('Do not charge again');
  expect(String(await catchError(client.initialize(payment)))).toContain('no customer was sent to it');
});

test.each([
  [403, '{"message":"Not in test mode"}'],
  [503, '{}'],
  [200, '{"status":false}'],
  [200, '<html>Test mode</html>'],
  [200, '{"status":true,"data":{"status":"test"}}'],
  [302, ''],
])('says "live mode only" of a charge with a test key alone: %i %s', async (status, body) => {
  const service = await startService(status, body);
  const hint = 'charging works in live mode only';
  expect(String(await catchError(service.client().chargeMobileMoney(charge)))).toContain(hint);
  const live = service.client({ apiKey: 'sk_live_4vK9qLm2Xw7RtZ' });
  expect(String(await catchError(live.chargeMobileMoney(charge)))).not.toContain(hint);
  expect(String(await catchError(service.client().initialize(payment)))).not.toContain(hint);
});

test('judges a 421, after which fetch sends again, by the last response', async () => {
  const service = await startService(421, { message: 'Not here' });
  const failure = await catchError(service.client({ maxRetries: 2 }).chargeMobileMoney(charge));
  expect(failure).toMatchObject({ name: 'APIError', status: 421, outcome: 'rejected', retryable: false });
  expect(service.requests.length).toBeLessThanOrEqual(2);
});

const whole = JSON.stringify(successBodies.chargeMobileMoney());
const sized = `content-length: ${whole.length}\r\n\r\n${whole}`;

/** What HTTP frames in an odd way, and whether it can be read as a response without a result or not at all. */
test.each<[string, string, 'UnexpectedResponseError' | 'ConnectionError']>([
  ['204 without a body', '204 No Content\r\n\r\n', 'UnexpectedResponseError'],
  ['205 without a body', '205 Reset Content\r\ncontent-length: 0\r\n\r\n', 'UnexpectedResponseError'],
  ['200 with content-length 0', '200 OK\r\ncontent-length: 0\r\n\r\n', 'UnexpectedResponseError'],
  ['206 with a part', '206 Part\r\ncontent-length: 15\r\n\r\n{"status":true,', 'UnexpectedResponseError'],
  ['a body shorter than stated', `200 OK\r\ncontent-length: 5000\r\n\r\n${whole}`, 'ConnectionError'],
  ['a chunk of no size', '200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n', 'ConnectionError'],
  ['two different content-lengths', `200 OK\r\ncontent-length: 5\r\n${sized}`, 'ConnectionError'],
  ['a status line that is none', `abc OK\r\n${sized}`, 'ConnectionError'],
  [
    'a switch to another protocol',
    '101 Switch\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    'ConnectionError',
  ],
  ['headers without end', `200 OK\r\n${'x: y\r\n'.repeat(50_000)}`, 'ConnectionError'],
  // RFC 9110 allows it, Node's fetch does not: no Expect header asked for it.
  ['an unrequested 100', `100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n${sized}`, 'ConnectionError'],
  ['nothing but 1xx', '103 Early Hints\r\nlink: </>\r\n\r\n', 'ConnectionError'],
])('reports unknown, and a read as retryable, after %s', async (_, bytes, name) => {
  const client = (await startRawService((socket) => socket.end(`HTTP/1.1 ${bytes}`))).client();
  for (const operation of posts) {
    expect(await catchError(calls[operation](client))).toMatchObject({
      name: 'OutcomeUnknownError',
      outcome: 'unknown',
      retryable: false,
      cause: { name, outcome: 'unknown', retryable: false },
    });
  }
  expect(await catchError(client.verify(REFERENCE))).toMatchObject({ name, retryable: true, outcome: null });
});

test.each(operationNames)('%s ignores informational responses before the final one', async (operation) => {
  const service = await startService((response) => {
    response.writeProcessing();
    response.writeEarlyHints({ link: '</style.css>; rel=preload' });
    sendJson(response, 200, successBodies[operation]());
  });
  expect(await calls[operation](service.client())).toMatchObject({ reference: REFERENCE });
});
