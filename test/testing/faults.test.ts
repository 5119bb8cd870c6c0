import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  APIError,
  ConflictError,
  ConnectionError,
  InvalidRequestError,
  NotFoundError,
  OutcomeUnknownError,
  PermissionError,
  RateLimitError,
  RequestTimeoutError,
  ServerError,
  TransactionMismatchError,
  UnexpectedResponseError,
} from '../../src/index.ts';
import { createMockPayments, type Faults } from '../../src/testing/index.ts';
import { failureOf } from '../support/service.ts';
import { charge, payment, startMock } from './start-mock.ts';

const patience = { timeout: 100 };

type Shop = ReturnType<typeof startMock>;

/** What a verify makes of a fault. */
async function verifyUnder({ mock, payments }: Shop, fault: Faults['verify']) {
  const { reference } = await payments.initialize(payment);
  mock.fault('verify', fault);
  return failureOf(payments.verify(reference, patience));
}

/** What a charge makes of a fault, and how many charges exist after it. */
async function chargeUnder({ mock, payments }: Shop, fault: Faults['chargeMobileMoney']) {
  const before = mock.charges.length;
  mock.fault('chargeMobileMoney', fault);
  const error = await failureOf(payments.chargeMobileMoney(charge, patience));
  return { error, charged: mock.charges.length - before };
}

const unknown = (cause: new (...facts: never[]) => Error) => ({
  outcome: 'unknown',
  cause: expect.any(cause),
});

describe('a status code', () => {
  test.each([
    [400, InvalidRequestError],
    [403, PermissionError],
    [404, NotFoundError],
    [409, ConflictError],
    [418, APIError],
    [422, InvalidRequestError],
    [429, RateLimitError],
    [500, ServerError],
    [503, ServerError],
  ])('%d', async (status, errorClass) => {
    const shop = startMock();
    for (const body of ['json', 'html', 'empty'] as const) {
      const error = await verifyUnder(shop, { kind: 'status', status, body });
      expect(error).toBeInstanceOf(errorClass);
      expect(error).toMatchObject({ status, outcome: null });
    }
  });

  test('with JSON, HTML, an empty body or a body of the test’s own', async () => {
    const shop = startMock();
    const body = async (fault: 'json' | 'html' | 'empty' | { detail: string } | undefined) => {
      const error = await verifyUnder(shop, {
        kind: 'status',
        status: 502,
        ...(fault ? { body: fault } : {}),
      });
      return error instanceof APIError ? error.body : error;
    };
    expect(await body(undefined)).toMatchObject({ status: false });
    expect(await body('json')).toMatchObject({ status: false });
    expect(await body('html')).toMatch(/^<!doctype html>.*502/);
    expect(await body('empty')).toBe('');
    expect(await body({ detail: 'down for the night' })).toEqual({ detail: 'down for the night' });
  });

  test('a 4xx of a charge says that nothing was charged, and nothing was', async () => {
    const shop = startMock();
    const { error, charged } = await chargeUnder(shop, { kind: 'status', status: 409 });
    expect(error).toBeInstanceOf(ConflictError);
    expect(error).toMatchObject({ outcome: 'rejected' });
    expect(charged).toBe(0);
  });

  test.each([
    [500, ServerError],
    [408, APIError],
    [302, UnexpectedResponseError],
    [200, UnexpectedResponseError],
    [204, UnexpectedResponseError],
  ])('a %d of a charge leaves it open, whether or not it was accepted', async (status, cause) => {
    const shop = startMock();
    for (const accepted of [false, true]) {
      const { error, charged } = await chargeUnder(shop, { kind: 'status', status, body: 'html', accepted });
      expect(error).toBeInstanceOf(OutcomeUnknownError);
      expect(error).toMatchObject(unknown(cause));
      expect(charged).toBe(accepted ? 1 : 0);
    }
  });

  test('has the headers that the test gives', async () => {
    const shop = startMock();
    const error = await verifyUnder(shop, {
      kind: 'status',
      status: 500,
      headers: { 'x-request-id': 'req-7' },
    });
    expect(error).toMatchObject({ requestId: 'req-7' });
  });

  test.each([99, 199, 600, Number.NaN])('%d is refused', (status) => {
    expect(() => createMockPayments().fault('verify', { kind: 'status', status })).toThrow(RangeError);
  });
});

describe('rateLimited', () => {
  test('is a RateLimitError with retryAfter', async () => {
    const shop = startMock();
    const error = await verifyUnder(shop, { kind: 'rateLimited', retryAfter: 6_500 });
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ retryAfter: 7_000, retryable: true });
  });

  test('asks for a second where the test does not say', async () => {
    const shop = startMock();
    const { error, charged } = await chargeUnder(shop, { kind: 'rateLimited' });
    expect(error).toMatchObject({ retryAfter: 1_000, outcome: 'rejected' });
    expect(charged).toBe(0);
  });
});

describe('a broken connection', () => {
  test('reset: the service has not acted', async () => {
    const shop = startMock();
    const { error, charged } = await chargeUnder(shop, { kind: 'reset' });
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject(unknown(ConnectionError));
    expect(charged).toBe(0);
    expect(await verifyUnder(shop, { kind: 'reset' })).toBeInstanceOf(ConnectionError);
  });

  test('answerLost: the service has acted', async () => {
    const shop = startMock();
    const { error, charged } = await chargeUnder(shop, { kind: 'answerLost' });
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ ...unknown(ConnectionError), reference: undefined });
    expect(charged).toBe(1);
    expect(await verifyUnder(shop, { kind: 'answerLost' })).toBeInstanceOf(ConnectionError);
  });
});

describe('no whole answer in time', () => {
  test('hang', async () => {
    const shop = startMock();
    expect(await verifyUnder(shop, { kind: 'hang' })).toBeInstanceOf(RequestTimeoutError);
    for (const accepted of [false, true]) {
      const { error, charged } = await chargeUnder(shop, { kind: 'hang', accepted });
      expect(error).toBeInstanceOf(OutcomeUnknownError);
      expect(error).toMatchObject(unknown(RequestTimeoutError));
      expect(charged).toBe(accepted ? 1 : 0);
    }
  });

  test('reset breaks the connections that hang, but none that hang later', async () => {
    const { mock, payments } = startMock();
    mock.fault('initialize', { kind: 'hang' });
    const hanging = failureOf(payments.initialize(payment));
    await vi.waitUntil(() => mock.requests.length === 1);
    mock.reset();
    expect(await hanging).toMatchObject(unknown(ConnectionError));

    mock.fault('initialize', { kind: 'hang' });
    expect(await failureOf(payments.initialize(payment, patience))).toMatchObject(
      unknown(RequestTimeoutError),
    );
  });

  test('dribble', async () => {
    const shop = startMock();
    expect(await verifyUnder(shop, { kind: 'dribble' })).toBeInstanceOf(RequestTimeoutError);
    const { error, charged } = await chargeUnder(shop, { kind: 'dribble', interval: 5 });
    expect(error).toMatchObject(unknown(RequestTimeoutError));
    expect(charged).toBe(1);
  });

  test('a dribble is whole in the end, by the clock of the test', async () => {
    vi.useFakeTimers();
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const { mock, payments } = startMock();
    mock.fault('initialize', { kind: 'dribble', interval: 50 });
    let reference = '';
    payments.initialize(payment).then((started) => {
      reference = started.reference;
    });
    await vi.waitUntil(
      async () => {
        await vi.advanceTimersByTimeAsync(50);
        return reference !== '';
      },
      { interval: 1, timeout: 15_000 },
    );
    expect(reference).toBe('TXN-000001');
  });
});

test('truncated', async () => {
  const shop = startMock();
  expect(await verifyUnder(shop, { kind: 'truncated' })).toBeInstanceOf(UnexpectedResponseError);
  const { error, charged } = await chargeUnder(shop, { kind: 'truncated' });
  expect(error).toBeInstanceOf(OutcomeUnknownError);
  expect(error).toMatchObject(unknown(UnexpectedResponseError));
  expect(charged).toBe(1);
});

describe('another transaction than was asked for', () => {
  test.each([
    [{ kind: 'wrongAmount', amount: '2.55' }, 'amount', '25.50', '2.55'],
    [{ kind: 'wrongCurrency', currency: 'NGN' }, 'currency', 'GHS', 'NGN'],
  ] as const)('%j on a charge and on initialize', async (fault, field, expected, actual) => {
    const shop = startMock();
    const mismatches = [{ field, expected, actual }];
    const { error, charged } = await chargeUnder(shop, fault);
    expect(error).toBeInstanceOf(TransactionMismatchError);
    expect(error).toMatchObject({ outcome: 'unknown', reference: 'TXN-000001', mismatches });
    expect(charged).toBe(1);
    expect(shop.mock.charges).toMatchObject([{ amount: '25.50', currency: 'GHS' }]);

    shop.mock.fault('initialize', fault);
    expect(await failureOf(shop.payments.initialize(payment))).toMatchObject({ mismatches });
  });

  test.each([
    [{ kind: 'wrongAmount', amount: '2.55' }, 'amount'],
    [{ kind: 'wrongCurrency', currency: 'NGN' }, 'currency'],
  ] as const)('%j on a verify with expect', async (fault, field) => {
    const { mock, payments } = startMock();
    const { reference } = await payments.initialize(payment);
    mock.fault('verify', fault);
    const error = await failureOf(
      payments.verify(reference, { expect: { amount: '25.50', currency: 'GHS' } }),
    );
    expect(error).toBeInstanceOf(TransactionMismatchError);
    expect(error).toMatchObject({ mismatches: [{ field }] });
  });

  test('wrongReference on a verify', async () => {
    const shop = startMock();
    const error = await verifyUnder(shop, { kind: 'wrongReference', reference: 'TXN-999999' });
    expect(error).toBeInstanceOf(TransactionMismatchError);
    expect(error).toMatchObject({
      mismatches: [{ field: 'reference', expected: 'TXN-000001', actual: 'TXN-999999' }],
    });
  });

  test('a reference that is none, on a charge', async () => {
    const shop = startMock();
    const { error } = await chargeUnder(shop, { kind: 'wrongReference', reference: '17' });
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject(unknown(UnexpectedResponseError));
  });
});

describe('unrecognisedStatus', () => {
  test('is no error, and not final', async () => {
    const { mock, payments } = startMock();
    const { reference } = await payments.chargeMobileMoney(charge);
    mock.fault('verify', { kind: 'unrecognisedStatus', status: 'on_hold' });
    expect(await payments.verify(reference)).toMatchObject({ status: 'unrecognised', raw_status: 'on_hold' });
    expect(await payments.verify(reference)).toMatchObject({ status: 'pending' });
  });

  test('of a charge', async () => {
    const { mock, payments } = startMock();
    mock.fault('chargeMobileMoney', { kind: 'unrecognisedStatus' });
    expect(await payments.chargeMobileMoney(charge)).toMatchObject({
      status: 'unrecognised',
      raw_status: 'reversed',
    });
  });
});

test('lateApproval: the customer pays after the merchant gave up', async () => {
  vi.useFakeTimers({ now: Date.parse('2026-11-21T10:15:00Z') });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const { mock, payments } = startMock();
  mock.fault('chargeMobileMoney', { kind: 'lateApproval', after: 11 * 60_000 });
  const { reference } = await payments.chargeMobileMoney(charge);
  vi.setSystemTime(Date.parse('2026-11-21T10:25:00Z'));
  expect((await payments.verify(reference)).status).toBe('pending');
  vi.setSystemTime(Date.parse('2026-11-21T10:30:00Z'));
  expect(await payments.verify(reference)).toMatchObject({
    status: 'success',
    paid_at: '2026-11-21T10:26:00+00:00',
  });
});

describe('how often', () => {
  test('once, unless the test says otherwise', async () => {
    const { mock, payments } = startMock();
    mock.fault('initialize', { kind: 'status', status: 500 });
    await failureOf(payments.initialize(payment));
    await payments.initialize(payment);
  });

  test('so many times, one fault after the other, each operation by itself', async () => {
    const { mock, payments } = startMock();
    mock.fault('initialize', { kind: 'status', status: 500 }, { times: 2 });
    mock.fault('chargeMobileMoney', { kind: 'status', status: 403 });
    mock.fault('initialize', { kind: 'status', status: 404 });
    const unknown = { outcome: 'unknown' };
    expect(await failureOf(payments.initialize(payment))).toMatchObject(unknown);
    expect(await failureOf(payments.initialize(payment))).toMatchObject(unknown);
    expect(await failureOf(payments.initialize(payment))).toMatchObject({ status: 404 });
    await payments.initialize(payment);
    expect(await failureOf(payments.chargeMobileMoney(charge))).toMatchObject({ status: 403 });
  });

  test('for ever', async () => {
    const { mock, payments } = startMock();
    mock.fault('initialize', { kind: 'status', status: 404 }, { times: Number.POSITIVE_INFINITY });
    for (let count = 0; count < 5; count++) await failureOf(payments.initialize(payment));
    mock.reset();
    await payments.initialize(payment);
  });

  test.each([0, -1, 1.5, Number.NaN])('%d times is refused', (times) => {
    expect(() => createMockPayments().fault('verify', { kind: 'reset' }, { times })).toThrow(RangeError);
  });

  test('a request that breaks the rules is refused as ever, and uses up no fault', async () => {
    const { mock, client, payments } = startMock();
    mock.fault('initialize', { kind: 'status', status: 503 });
    expect(await failureOf(client({ apiKey: 'sk_test_wrong' }).initialize(payment))).toMatchObject({
      status: 401,
    });
    expect(await failureOf(payments.initialize(payment))).toMatchObject({ outcome: 'unknown' });
  });

  test('a script takes its step under a fault only where the service acts', async () => {
    const { mock, payments } = startMock();
    mock.script('next', ['pending', 'success']);
    const { reference } = await payments.initialize(payment);
    mock.fault('verify', { kind: 'status', status: 503 });
    mock.fault('verify', { kind: 'answerLost' });
    await failureOf(payments.verify(reference));
    await failureOf(payments.verify(reference));
    expect((await payments.verify(reference)).status).toBe('success');
  });

  test("the client's own retries count", async () => {
    const { mock, client } = startMock();
    const payments = client({ maxRetries: 2 });
    const { reference } = await payments.initialize(payment);
    mock.fault('verify', { kind: 'status', status: 502, body: 'html' });
    mock.fault('verify', { kind: 'reset' });
    expect((await payments.verify(reference)).status).toBe('pending');
    expect(mock.requests).toHaveLength(4);
  });
});
