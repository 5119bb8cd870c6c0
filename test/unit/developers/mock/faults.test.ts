import { describe, expect, test, vi } from 'vitest';
import { createMockPayments, type Faults, type MockPayments } from '../../../../src/developers/mock/index.ts';
import {
  APIError,
  ConflictError,
  ConnectionError,
  InvalidRequestError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  RequestTimeoutError,
  ServerError,
  TransactionMismatchError,
  UnexpectedResponseError,
} from '../../../../src/index.ts';
import { catchError } from '../../../helpers/service.ts';
import { charge, payment, startListening, startMock, useFakeClock } from './start-mock.ts';

const TIMEOUT = 100;

/**
 * Returns the error of a call that meets a fault. The clock is fake, so that the timeout passes only once the request has
 * arrived, however slow the machine is.
 */
async function catchFault(mock: MockPayments, call: (options: { timeout: number }) => Promise<unknown>) {
  if (!vi.isFakeTimers()) useFakeClock();
  const before = mock.requests.length;
  const error = catchError(call({ timeout: TIMEOUT }));
  while (mock.requests.length === before) await vi.advanceTimersByTimeAsync(0);
  await vi.advanceTimersByTimeAsync(TIMEOUT);
  return error;
}

/** The faults of both operations. */
type CommonFault = Faults['verify'] & Faults['chargeMobileMoney'];

const ways = [
  ['behind MSW', () => startMock()],
  ['that listens', () => startListening()],
] as const;

describe.each(ways)('a mock %s', (_, start) => {
  /** Returns the errors of a verify and of a charge, and how many charges were made. */
  async function meet(fault: CommonFault) {
    const { mock, payments } = start();
    const { reference } = await payments.initialize(payment);
    mock.fault('verify', fault);
    const verified = await catchFault(mock, (options) => payments.verify(reference, options));
    mock.fault('chargeMobileMoney', fault);
    const error = await catchFault(mock, (options) => payments.chargeMobileMoney(charge, options));
    return { verified, error, charged: mock.charges.length };
  }

  test.each<[CommonFault, charged: number, new (...args: never[]) => Error]>([
    [{ kind: 'status', status: 500 }, 0, ServerError],
    [{ kind: 'status', status: 502, body: 'html', accepted: true }, 1, ServerError],
    [{ kind: 'status', status: 503, body: 'empty', accepted: false }, 0, ServerError],
    [{ kind: 'status', status: 408 }, 0, APIError],
    [{ kind: 'status', status: 418, body: { detail: 'tea' } }, 0, APIError],
    [
      { kind: 'status', status: 302, headers: { location: 'https://shop.example/' } },
      0,
      UnexpectedResponseError,
    ],
    [{ kind: 'status', status: 200, body: 'html', accepted: true }, 1, UnexpectedResponseError],
    [{ kind: 'status', status: 204 }, 0, UnexpectedResponseError],
    [{ kind: 'reset' }, 0, ConnectionError],
    [{ kind: 'responseLost' }, 1, ConnectionError],
    [{ kind: 'hang' }, 0, RequestTimeoutError],
    [{ kind: 'hang', accepted: true }, 1, RequestTimeoutError],
    [{ kind: 'slowBody', interval: 50 }, 1, RequestTimeoutError],
    [{ kind: 'truncated' }, 1, UnexpectedResponseError],
  ])('leaves a charge unknown after %j, with %d made', async (fault, charged, errorClass) => {
    const met = await meet(fault);
    expect(met.verified).toBeInstanceOf(errorClass);
    expect(met.error).toMatchObject({
      outcome: 'unknown',
      reference: undefined,
      cause: expect.any(errorClass),
    });
    expect(met.charged).toBe(charged);
  });

  test.each<[CommonFault, new (...args: never[]) => Error, object]>([
    [{ kind: 'status', status: 400 }, InvalidRequestError, { status: 400 }],
    [{ kind: 'status', status: 403, body: 'html' }, PermissionError, { status: 403 }],
    [{ kind: 'status', status: 404, body: 'empty' }, NotFoundError, { status: 404, body: '' }],
    [{ kind: 'status', status: 409 }, ConflictError, { body: { status: false, message: 'A fault: 409.' } }],
    [{ kind: 'status', status: 403, body: { status: false } }, PermissionError, { body: { status: false } }],
    [
      { kind: 'status', status: 422, headers: { 'x-request-id': 'r-7' } },
      InvalidRequestError,
      { requestId: 'r-7' },
    ],
    [{ kind: 'rateLimited' }, RateLimitError, { retryAfter: 1_000 }],
    [{ kind: 'rateLimited', retryAfter: 6_500 }, RateLimitError, { retryAfter: 7_000, retryable: true }],
  ])('rejects a charge with %j, and makes none', async (fault, errorClass, fields) => {
    const met = await meet(fault);
    for (const error of [met.verified, met.error]) {
      expect(error).toBeInstanceOf(errorClass);
      expect(error).toMatchObject(fields);
    }
    expect(met).toMatchObject({ verified: { outcome: null }, error: { outcome: 'rejected' }, charged: 0 });
  });

  test.each([
    [
      { kind: 'wrongAmount', amount: '2.55' },
      { field: 'amount', expected: '25.50', actual: '2.55' },
    ],
    [
      { kind: 'wrongCurrency', currency: 'NGN' },
      { field: 'currency', expected: 'GHS', actual: 'NGN' },
    ],
  ] as const)('returns other data for %j, and stores the right ones', async (fault, mismatch) => {
    const { mock, payments } = start();
    const { reference } = await payments.initialize(payment);
    for (const operation of ['verify', 'initialize', 'chargeMobileMoney'] as const)
      mock.fault(operation, fault);
    const expected = { expect: { amount: '25.50', currency: 'GHS' } };
    const errors = [
      await catchError(payments.verify(reference, expected)),
      await catchError(payments.initialize(payment)),
      await catchError(payments.chargeMobileMoney(charge)),
    ];
    for (const error of errors) {
      expect(error).toBeInstanceOf(TransactionMismatchError);
      expect(error).toMatchObject({ mismatches: [mismatch] });
    }
    expect(errors[2]).toMatchObject({ outcome: 'unknown', reference: 'TXN-000003' });
    expect(mock.charges).toMatchObject([{ amount: '25.50', currency: 'GHS' }]);
  });

  test('returns another reference, and the page of that', async () => {
    const { mock, payments } = start();
    const fault = { kind: 'wrongReference', reference: 'TXN-999999' } as const;
    mock.fault('initialize', fault);
    expect(await payments.initialize(payment)).toMatchObject({
      reference: 'TXN-999999',
      checkout_url: 'https://payments.example/checkout/TXN-999999',
    });
    mock.fault('verify', fault);
    expect(await catchError(payments.verify('TXN-000001'))).toMatchObject({
      mismatches: [{ field: 'reference', expected: 'TXN-000001', actual: 'TXN-999999' }],
    });
    mock.fault('chargeMobileMoney', { ...fault, reference: '17' });
    expect(await catchError(payments.chargeMobileMoney(charge))).toMatchObject({
      outcome: 'unknown',
      cause: expect.any(UnexpectedResponseError),
    });
  });

  test('returns a status that nobody knows, which is not final', async () => {
    const { mock, payments } = start();
    mock.fault('chargeMobileMoney', { kind: 'unrecognisedStatus' });
    mock.fault('verify', { kind: 'unrecognisedStatus', status: 'on_hold' });
    const charged = await payments.chargeMobileMoney(charge);
    expect(charged).toMatchObject({ status: 'unrecognised', raw_status: 'reversed' });
    const unknown = { status: 'unrecognised', raw_status: 'on_hold' };
    expect(await payments.verify(charged.reference)).toMatchObject(unknown);
    expect(await payments.verify(charged.reference)).toMatchObject({ status: 'pending' });
  });

  test('approves late, after the wait has ended', async () => {
    useFakeClock('2026-11-21T10:15:00Z');
    const { mock, payments } = start();
    mock.fault('chargeMobileMoney', { kind: 'lateApproval', after: 11 * 60_000 });
    const { reference } = await payments.chargeMobileMoney(charge);
    vi.setSystemTime(Date.parse('2026-11-21T10:25:00Z'));
    expect((await payments.verify(reference)).status).toBe('pending');
    vi.setSystemTime(Date.parse('2026-11-21T10:30:00Z'));
    const paid = { status: 'success', paid_at: '2026-11-21T10:26:00+00:00' };
    expect(await payments.verify(reference)).toMatchObject(paid);
  });

  test('breaks hanging connections at a reset, but no later ones', async () => {
    const { mock, payments } = start();
    mock.fault('initialize', { kind: 'hang', accepted: true });
    const hanging = payments.initialize(payment);
    const ended = vi.fn();
    void hanging.catch(ended);
    await vi.waitFor(() => expect(mock.transactions).toHaveLength(1));
    expect(ended).not.toHaveBeenCalled();
    mock.reset();
    expect(await catchError(hanging)).toMatchObject({ cause: expect.any(ConnectionError) });
    mock.fault('initialize', { kind: 'hang' });
    const later = await catchFault(mock, (options) => payments.initialize(payment, options));
    expect(later).toMatchObject({ cause: expect.any(RequestTimeoutError) });
  });
});

describe('an order of faults', () => {
  test('breaks as many valid requests of an operation as it says, in order', async () => {
    const { mock, client, payments } = startMock();
    mock.fault('initialize', { kind: 'status', status: 409 }, { times: 2 });
    mock.fault('chargeMobileMoney', { kind: 'status', status: 403 });
    mock.fault('initialize', { kind: 'status', status: 404 });
    const wrongKey = client({ apiKey: 'sk_test_wrong' });
    const statuses: unknown[] = [];
    for (const call of [
      () => payments.initialize(payment),
      // Refused as usual, and no fault is used up.
      () => wrongKey.initialize(payment),
      () => payments.initialize(payment),
      () => payments.initialize(payment),
      () => payments.initialize(payment),
      () => payments.chargeMobileMoney(charge),
      () => payments.chargeMobileMoney(charge),
    ])
      statuses.push(
        await call().then(
          ({ reference }) => reference,
          ({ status }) => status,
        ),
      );
    expect(statuses).toEqual([409, 401, 409, 404, 'TXN-000001', 403, 'TXN-000002']);
  });

  test.each([
    ['reset', (mock: MockPayments) => mock.reset()],
    ['clearFaults', (mock: MockPayments) => mock.clearFaults()],
  ])('breaks every request with Infinity until %s', async (_, clear) => {
    const { mock, payments } = startMock();
    mock.webhooks.deliverTo(() => {});
    mock.fault('initialize', { kind: 'status', status: 404 }, { times: Number.POSITIVE_INFINITY });
    mock.webhooks.fault({ kind: 'lost' });
    for (let count = 0; count < 5; count++) await catchError(payments.initialize(payment));
    clear(mock);
    const { reference } = await payments.initialize(payment);
    mock.approve(reference);
    await mock.webhooks.flush();
    expect(mock.webhooks.deliveries).toMatchObject([{ reference, fault: null, state: 'delivered' }]);
  });
});

describe('what cannot happen throws when it is ordered', () => {
  /** Orders a fault without types, as a test in JavaScript does. Of no operation: a fault of the next webhook. */
  const order = (operation: string | null, fault: unknown, times = 1) => {
    const mock = createMockPayments();
    if (operation === null) Reflect.apply(mock.webhooks.fault, mock.webhooks, [fault, { times }]);
    else Reflect.apply(mock.fault, undefined, [operation, fault, { times }]);
  };

  test.each([
    ['verify', { kind: 'unrecognizedStatus' }, 'Unknown fault unrecognizedStatus for verify. Known: status,'],
    ['verify', {}, 'Unknown fault for verify. Known: status,'],
    ['verify', { kind: 'lateApproval', after: 5 }, 'Unknown fault lateApproval for verify'],
    ['initialize', { kind: 'unrecognisedStatus' }, 'Unknown fault unrecognisedStatus for initialize'],
    ['charge', { kind: 'reset' }, 'Unknown operation charge. Known: initialize, chargeMobileMoney,'],
    ['toString', { kind: 'reset' }, 'Unknown operation toString'],
    [
      'verify',
      { kind: 'hang', acepted: true },
      'The fault has an unknown field "acepted". Did you mean accepted?',
    ],
    ['verify', { kind: 'status', status: 500, body: 'xml' }, 'body must be'],
    ['verify', { kind: 'status', status: 500, body: { amount: 1n } }, 'BigInt'],
    ['verify', { kind: 'status', status: 500, headers: { 'two words': 'x' } }, 'two words'],
    ['verify', { kind: 'status', status: 500, headers: { 'x-note': 'Accra\nKumasi' } }, 'Accra'],
    ['verify', { kind: 'wrongAmount' }, 'amount must be a string, not undefined'],
    ['verify', { kind: 'wrongCurrency', currency: 5 }, 'currency must be a string, not number.'],
    ['verify', { kind: 'wrongReference' }, 'reference must be a string'],
    ['verify', { kind: 'unrecognisedStatus', status: 7 }, 'status must be a string'],
    [null, { kind: 'slow' }, 'Unknown webhook fault slow. Known: late, twice, lost, forged, early.'],
    [null, { kind: 'toString' }, 'Unknown webhook fault toString.'],
    [null, { kind: '024 412 3456' }, 'Unknown webhook fault. Known:'],
    [null, {}, 'Unknown webhook fault. Known:'],
    [null, null, 'Unknown webhook fault. Known:'],
    [null, { kind: 'forged', amount: 25.5 }, 'amount must be a string, not number.'],
  ])('%s with %o is a TypeError', (operation, fault, message) => {
    expect(() => order(operation, fault)).toThrow(TypeError);
    expect(() => order(operation, fault)).toThrow(message);
  });

  test.each([
    ...[-1, Number.NaN, Number.POSITIVE_INFINITY, 8.64e15, '5'].flatMap((value) => [
      ['chargeMobileMoney', { kind: 'rateLimited', retryAfter: value }] as const,
      ['chargeMobileMoney', { kind: 'slowBody', interval: value }] as const,
      ['chargeMobileMoney', { kind: 'lateApproval', after: value }] as const,
      [null, { kind: 'late', delay: value }] as const,
      [null, { kind: 'early', delay: value }] as const,
    ]),
    ...[99, 199, 600, 500.5, Number.NaN, '500', undefined].map(
      (status) => ['verify', { kind: 'status', status }] as const,
    ),
    // No timer can hold it.
    ['verify', { kind: 'slowBody', interval: 2 ** 31 }] as const,
    [null, { kind: 'forged', status: 'x'.repeat(256) }] as const,
  ])('%s with %o is a RangeError', (operation, fault) => {
    expect(() => order(operation, fault)).toThrow(RangeError);
  });

  test.each([0, -1, 1.5, Number.NaN])('%d times is a RangeError', (times) => {
    expect(() => order('verify', { kind: 'reset' }, times)).toThrow(RangeError);
    expect(() => order(null, { kind: 'lost' }, times)).toThrow(RangeError);
  });
});
