import { describe, expect, test } from 'vitest';
import { AuthenticationError, InvalidRequestError, NotFoundError } from '../../../src/index.ts';
import { catchError } from '../../helpers/service.ts';
import { charge, payment, startMock } from './start-mock.ts';

const wirePayment = { ...payment, amount: 25.5 };
const wireCharge = { ...charge, amount: 25.5 };

interface RawRequest {
  method?: string;
  authorization?: string | null;
  contentType?: string | null;
  body?: unknown;
}

/** Sends a request that this package's client would never send. */
function send(path: string, { method = 'POST', contentType = 'application/json', ...more }: RawRequest = {}) {
  const { authorization = 'Bearer mock-live-key', body = wirePayment } = more;
  const headers = new Headers();
  if (authorization !== null) headers.set('authorization', authorization);
  if (contentType !== null) headers.set('content-type', contentType);
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(`https://payments.example/api/v1${path}`, {
    method,
    headers,
    ...(method === 'POST' ? { body: new TextEncoder().encode(text) } : {}),
  });
}

async function parseRejection(sending: Promise<Response>) {
  const response = await sending;
  expect(response.headers.get('content-type')).toBe('application/json');
  return { code: response.status, ...(await response.json()) };
}

const initialize = '/transactions/initialize';
const chargeMobileMoney = '/transactions/charge-mobile-money';

describe('authentication', () => {
  test.each([
    null,
    'Bearer',
    'Bearer sk_test_other',
    'Bearer sk_test_mock2',
    'bearer sk_test_mock',
    'Basic sk_test_mock',
    'sk_test_mock',
  ])('rejects the key %s', async (authorization) => {
    const { mock } = startMock();
    for (const path of [initialize, chargeMobileMoney]) {
      expect(await parseRejection(send(path, { authorization, body: wireCharge }))).toMatchObject({
        code: 401,
        status: false,
      });
    }
    expect(
      await parseRejection(send('/transactions/verify/TXN-000001', { method: 'GET', authorization })),
    ).toMatchObject({ code: 401 });
    expect(mock.transactions).toEqual([]);
  });

  test('makes the client throw AuthenticationError after a wrong key', async () => {
    const { client } = startMock({ apiKey: 'sk_test_right' });
    const error = await catchError(client({ apiKey: 'sk_test_wrong' }).initialize(payment));
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error).toMatchObject({ outcome: 'rejected', serviceMessage: 'The API key is not valid.' });
  });
});

describe('content type', () => {
  test.each([null, 'text/plain', 'application/jsonp', 'application/x-www-form-urlencoded'])(
    'rejects the content type %s',
    async (contentType) => {
      const { mock } = startMock();
      expect((await send(initialize, { contentType })).status).toBe(415);
      expect((await send(chargeMobileMoney, { contentType, body: wireCharge })).status).toBe(415);
      expect(mock.transactions).toEqual([]);
    },
  );

  test('accepts JSON with a charset', async () => {
    startMock();
    expect((await send(initialize, { contentType: 'application/json; charset=utf-8' })).status).toBe(200);
  });
});

describe('body', () => {
  test.each(['', '{', 'amount=5'])('rejects %j, which is not JSON', async (body) => {
    startMock();
    expect(await parseRejection(send(initialize, { body }))).toMatchObject({ code: 400, status: false });
  });

  test.each([null, [], [wirePayment], 'text', 5])('rejects %j, which has no fields', async (body) => {
    startMock();
    expect((await send(initialize, { body: JSON.stringify(body) })).status).toBe(422);
  });

  test('names every invalid field', async () => {
    const { mock } = startMock();
    const rejection = await parseRejection(
      send(chargeMobileMoney, { body: { amount: '5', network: 'vodafone', phone: 24 } }),
    );
    expect(rejection).toMatchObject({ code: 422, status: false });
    expect(rejection.errors.map(({ field }: { field: string }) => field).sort()).toEqual([
      'amount',
      'customer_email',
      'network',
      'phone',
    ]);
    expect(mock.transactions).toEqual([]);
  });

  test('names the fields in a way that the client can read', async () => {
    const { client } = startMock();
    const tampering: typeof fetch = (input, init) =>
      fetch(new Request(input, init), { body: JSON.stringify({ ...wirePayment, amount: 0 }) });
    const error = await catchError(client({ fetch: tampering }).initialize(payment));
    expect(error).toBeInstanceOf(InvalidRequestError);
    expect(error).toMatchObject({
      status: 422,
      fieldErrors: [{ field: 'amount', message: 'must be at least 1' }],
    });
  });

  describe.each([
    ['initialize', initialize, wirePayment],
    ['charge-mobile-money', chargeMobileMoney, wireCharge],
  ])('of %s', (_name, path, valid) => {
    test.each([
      ['amount', undefined],
      ['amount', null],
      ['amount', '25.50'],
      ['amount', 'much'],
      ['amount', true],
      ['amount', 0],
      ['amount', 0.99],
      ['amount', -5],
      ['amount', 1.005],
      ['customer_email', undefined],
      ['customer_email', 5],
      ['customer_email', 'nobody'],
      ['currency', null],
      ['currency', 'GH'],
      ['currency', 'CEDI'],
      ['currency', 936],
    ])('rejects %s: %j', async (field, value) => {
      const { mock } = startMock();
      const rejection = await parseRejection(send(path, { body: { ...valid, [field]: value } }));
      expect(rejection).toMatchObject({ code: 422, status: false, errors: [{ field }] });
      expect(mock.transactions).toEqual([]);
    });

    test.each([
      ['amount', 1],
      ['currency', undefined],
      ['currency', 'NGN'],
    ])('accepts %s: %j', async (field, value) => {
      startMock();
      expect((await send(path, { body: { ...valid, [field]: value } })).status).toBe(200);
    });

    test('accepts undocumented fields', async () => {
      startMock();
      const body = { ...valid, callback_url: 'https://shop.example/paid', curency: 'USD', toString: 1 };
      expect((await send(path, { body })).status).toBe(200);
    });
  });

  test.each([
    ['phone', undefined],
    ['phone', 244123456],
    ['network', undefined],
    ['network', 'vodafone'],
    ['network', 'MTN'],
    ['network', null],
  ])('of charge-mobile-money rejects %s: %j', async (field, value) => {
    const { mock } = startMock();
    const rejection = await parseRejection(
      send(chargeMobileMoney, { body: { ...wireCharge, [field]: value } }),
    );
    expect(rejection).toMatchObject({ code: 422, errors: [{ field }] });
    expect(mock.charges).toEqual([]);
  });

  test.each(['mtn', 'telecel', 'airteltigo'])('accepts the network %s', async (network) => {
    startMock();
    expect((await send(chargeMobileMoney, { body: { ...wireCharge, network } })).status).toBe(200);
  });
});

describe('path and method', () => {
  test.each([
    '/',
    '/transactions',
    '/transactions/',
    '/transactions/refund',
    '/transactions/initialize/',
    '/transactions/initialize/x',
    '/transactions/Initialize',
    '/transactions/verify',
    '/transactions/verify/',
    '/transactions/verify/TXN-000001/x',
    '/v2/transactions/initialize',
  ])('responds with 404 to %s', async (path) => {
    startMock();
    expect(await parseRejection(send(path))).toMatchObject({ code: 404, status: false });
  });

  test.each([
    ['GET', initialize, 'POST'],
    ['PUT', initialize, 'POST'],
    ['GET', chargeMobileMoney, 'POST'],
    ['DELETE', '/transactions/verify/TXN-000001', 'GET'],
    ['POST', '/transactions/verify/TXN-000001', 'GET'],
  ])('responds with 405 to %s %s', async (method, path, allow) => {
    startMock();
    const response = await send(path, { method });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe(allow);
  });

  test.each(['TXN-000002', 'TXN-%', 'TXN-%2F', 'anything'])(
    'responds with 404 to a verify of %s',
    async (reference) => {
      const { payments } = startMock();
      await payments.initialize(payment);
      const sending = send(`/transactions/verify/${reference}`, { method: 'GET' });
      expect(await parseRejection(sending)).toMatchObject({ code: 404, status: false });
    },
  );

  test('makes the client throw NotFoundError after an unknown reference', async () => {
    const { payments } = startMock();
    expect(await catchError(payments.verify('TXN-unknown'))).toBeInstanceOf(NotFoundError);
  });
});
