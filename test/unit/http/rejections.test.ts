import { describe, expect, test } from 'vitest';
import { APIError, AuthenticationError, OutcomeUnknownError } from '../../../src/index.ts';
import { calls, posts, REFERENCE } from '../../helpers/calls.ts';
import { startRawService } from '../../helpers/raw-service.ts';
import { catchError, charge, payment, startService, successBodies } from '../../helpers/service.ts';

/** Starts a service that responds to every request with this. */
const startServiceWith = (status: number, body: string, headers: Record<string, string> = {}) =>
  startService(status, body, headers);

const chargeFailure = async (service: Awaited<ReturnType<typeof startService>>) =>
  catchError(service.client().chargeMobileMoney(charge));

test.each(posts)(
  'throws APIError with outcome rejected for %s after a 2xx status: false',
  async (operation) => {
    const body = { status: false, message: 'Insufficient funds.', data: null };
    const service = await startServiceWith(200, JSON.stringify(body));
    const failure = await catchError(calls[operation](service.client({ maxRetries: 2 })));
    expect(failure).toBeInstanceOf(APIError);
    expect(failure).toMatchObject({
      name: 'APIError',
      operation,
      outcome: 'rejected',
      retryable: false,
      status: 200,
      body,
      serviceMessage: 'Insufficient funds.',
    });
    expect(service.requests).toHaveLength(1);
  },
);

test('throws APIError after a 2xx with status: false on verify', async () => {
  const service = await startServiceWith(200, '{"status":false}');
  const failure = await catchError(service.client({ maxRetries: 2 }).verify(REFERENCE));
  expect(failure).toMatchObject({ name: 'APIError', outcome: null, retryable: false, status: 200 });
  expect(service.requests).toHaveLength(1);
});

test('reports unknown after status: false with a reference', async () => {
  const service = await startService(200, { ...successBodies.chargeMobileMoney(), status: false });
  const failure = await chargeFailure(service);
  expect(failure).toBeInstanceOf(OutcomeUnknownError);
  expect(failure).toMatchObject({
    outcome: 'unknown',
    reference: REFERENCE,
    cause: { name: 'APIError', outcome: 'unknown', retryable: false },
  });
  expect(String(failure)).toContain(`verify ${REFERENCE}`);
});

const data = { status: 'queued', amount: '25.50' };

test.each<[string, object]>([
  ['of a success, with a status', { status: true, data }],
  ['with a documented status', { status: false, data: { status: 'processing' } }],
  ['with a reference in another form', { status: false, data: { reference: '8f2c61d0' } }],
  ['with a reference that is a number', { message: 'No.', error: { reference: 4711 } }],
  ['with a reference in a list', { errors: [{ transaction_reference: 'ref_8f2c61d0' }] }],
])('reports unknown after a refusal with a body %s', async (_, body) => {
  for (const status of [200, 400, 409, 422, 429]) {
    // A 200 that says true is a result that cannot be read.
    const service = await startServiceWith(status, JSON.stringify(body));
    expect(await chargeFailure(service)).toMatchObject({ outcome: 'unknown', nextStep: 'review' });
    expect(service.requests).toHaveLength(1);
  }
});

test.each<[string, object]>([
  ['without data', { status: true, message: 'No.' }],
  ['with a status that is no text', { status: true, data: { status: 422 } }],
  ['with another status', { status: false, data: { status: 'invalid' } }],
  ['without a reference', { reference: null, data: { reference: '' } }],
  ['about a field', { errors: { reference: ['is unknown'] }, field: 'reference' }],
])('reports rejected after a refusal with a body %s', async (_, body) => {
  const failure = await chargeFailure(await startServiceWith(422, JSON.stringify(body)));
  expect(failure).toMatchObject({ outcome: 'rejected', nextStep: 'correct' });
});

describe('a charge with a test key, whose error says live mode only', () => {
  const hint = 'charging works in live mode only';
  test.each([
    [403, '{"message":"Not in test mode"}'],
    [503, '{}'],
    [200, '{"status":false}'],
    [200, '<html>Test mode</html>'],
    [200, '{"status":true,"data":{"status":"test"}}'],
    [302, ''],
  ])('%i %s', async (status, body) => {
    const service = await startServiceWith(status, body);
    expect(String(await chargeFailure(service))).toContain(hint);
    expect(service.requests).toHaveLength(1);

    const live = service.client({ apiKey: 'sk_live_4vK9qLm2Xw7RtZ' });
    expect(String(await catchError(live.chargeMobileMoney(charge)))).not.toContain(hint);
    expect(String(await catchError(service.client().initialize(payment)))).not.toContain(hint);
  });
});

test('shows a 401 whose body breaks off, and does not report rejected', async () => {
  const service = await startRawService((socket) => {
    socket.write('HTTP/1.1 401 Unauthorized\r\ncontent-length: 100\r\n\r\n{"message": "Wro');
    setImmediate(() => socket.resetAndDestroy());
  });
  const failure = await catchError(service.client().chargeMobileMoney(charge));
  expect(failure).toBeInstanceOf(OutcomeUnknownError);
  expect(failure).toMatchObject({ outcome: 'unknown', retryable: false, cause: { status: 401 } });
  expect(failure).toHaveProperty('cause', expect.any(AuthenticationError));
});

test('leaves retryAfter out of an error without Retry-After', async () => {
  const failure = await chargeFailure(await startServiceWith(429, ''));
  expect(failure).toMatchObject({ retryAfter: undefined, fieldErrors: [] });
});
