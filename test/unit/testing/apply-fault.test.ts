import { describe, expect, test, vi } from 'vitest';
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
  UnexpectedResponseError,
} from '../../../src/index.ts';
import { catchError } from '../../helpers/service.ts';
import {
  charge,
  chargeWithFault,
  payment,
  startMock,
  unknownBecauseOf,
  useFakeClock,
  verifyWithFault,
} from './start-mock.ts';

describe('status', () => {
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
  ])('%d is the error of its class', async (status, errorClass) => {
    const started = startMock();
    for (const body of ['json', 'html', 'empty'] as const) {
      const error = await verifyWithFault(started, { kind: 'status', status, body });
      expect(error).toBeInstanceOf(errorClass);
      expect(error).toMatchObject({ status, outcome: null });
    }
  });

  test('sends JSON, HTML, no body, or the body of the test', async () => {
    const started = startMock();
    const body = async (fault: 'json' | 'html' | 'empty' | { detail: string } | undefined) => {
      const error = await verifyWithFault(started, {
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

  test('rejects a charge after a 4xx, and charges nothing', async () => {
    const started = startMock();
    const { error, charged } = await chargeWithFault(started, { kind: 'status', status: 409 });
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
  ])('makes a charge unknown after a %d, accepted or not', async (status, cause) => {
    const started = startMock();
    for (const accepted of [false, true]) {
      const { error, charged } = await chargeWithFault(started, {
        kind: 'status',
        status,
        body: 'html',
        accepted,
      });
      expect(error).toBeInstanceOf(OutcomeUnknownError);
      expect(error).toMatchObject(unknownBecauseOf(cause));
      expect(charged).toBe(accepted ? 1 : 0);
    }
  });

  test('sends the headers of the test', async () => {
    const started = startMock();
    const error = await verifyWithFault(started, {
      kind: 'status',
      status: 500,
      headers: { 'x-request-id': 'req-7' },
    });
    expect(error).toMatchObject({ requestId: 'req-7' });
  });
});

describe('rateLimited', () => {
  test('is a RateLimitError with retryAfter, rounded up', async () => {
    const started = startMock();
    const error = await verifyWithFault(started, { kind: 'rateLimited', retryAfter: 6_500 });
    expect(error).toBeInstanceOf(RateLimitError);
    expect(error).toMatchObject({ retryAfter: 7_000, retryable: true });
  });

  test('has a retryAfter of one second by default', async () => {
    const started = startMock();
    const { error, charged } = await chargeWithFault(started, { kind: 'rateLimited' });
    expect(error).toMatchObject({ retryAfter: 1_000, outcome: 'rejected' });
    expect(charged).toBe(0);
  });
});

describe('a broken connection', () => {
  test('reset: nothing was charged', async () => {
    const started = startMock();
    const { error, charged } = await chargeWithFault(started, { kind: 'reset' });
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject(unknownBecauseOf(ConnectionError));
    expect(charged).toBe(0);
    expect(await verifyWithFault(started, { kind: 'reset' })).toBeInstanceOf(ConnectionError);
  });

  test('responseLost: the charge was made', async () => {
    const started = startMock();
    const { error, charged } = await chargeWithFault(started, { kind: 'responseLost' });
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ ...unknownBecauseOf(ConnectionError), reference: undefined });
    expect(charged).toBe(1);
    expect(await verifyWithFault(started, { kind: 'responseLost' })).toBeInstanceOf(ConnectionError);
  });
});

describe('a response that does not come in time', () => {
  test('hang: a timeout, after the charge or instead of it', async () => {
    const started = startMock();
    expect(await verifyWithFault(started, { kind: 'hang' })).toBeInstanceOf(RequestTimeoutError);
    for (const accepted of [false, true]) {
      const { error, charged } = await chargeWithFault(started, { kind: 'hang', accepted });
      expect(error).toBeInstanceOf(OutcomeUnknownError);
      expect(error).toMatchObject(unknownBecauseOf(RequestTimeoutError));
      expect(charged).toBe(accepted ? 1 : 0);
    }
  });

  test('hang charges while the client still waits for the response', async () => {
    const { mock, payments } = startMock();
    mock.fault('chargeMobileMoney', { kind: 'hang', accepted: true });
    const abort = new AbortController();
    let ended = false;
    const { signal } = abort;
    const call = catchError(payments.chargeMobileMoney(charge, { signal })).finally(() => {
      ended = true;
    });
    await vi.waitFor(() => expect(mock.charges).toHaveLength(1));
    expect(ended).toBe(false);
    abort.abort();
    expect(await call).toBeInstanceOf(OutcomeUnknownError);
    expect(mock.charges).toHaveLength(1);
  });

  test('mock.reset() breaks hanging connections, but no later ones', async () => {
    const { mock, payments } = startMock();
    mock.fault('initialize', { kind: 'hang' });
    const hanging = catchError(payments.initialize(payment));
    await vi.waitUntil(() => mock.requests.length === 1);
    mock.reset();
    expect(await hanging).toMatchObject(unknownBecauseOf(ConnectionError));

    mock.fault('initialize', { kind: 'hang' });
    expect(await catchError(payments.initialize(payment, { timeout: 50 }))).toMatchObject(
      unknownBecauseOf(RequestTimeoutError),
    );
  });

  test('slowBody: a timeout after the charge', async () => {
    const started = startMock();
    expect(await verifyWithFault(started, { kind: 'slowBody' })).toBeInstanceOf(RequestTimeoutError);
    const { error, charged } = await chargeWithFault(started, { kind: 'slowBody', interval: 5 });
    expect(error).toMatchObject(unknownBecauseOf(RequestTimeoutError));
    expect(charged).toBe(1);
  });

  test('slowBody is complete in the end, on the clock of the test', async () => {
    useFakeClock();
    const { mock, payments } = startMock();
    mock.fault('initialize', { kind: 'slowBody', interval: 50 });
    let reference = '';
    payments.initialize(payment).then((started) => {
      reference = started.reference;
    });
    await vi.waitUntil(
      async () => {
        await vi.advanceTimersByTimeAsync(50);
        return reference !== '';
      },
      { interval: 1 },
    );
    expect(reference).toBe('TXN-000001');
  });
});

test('truncated: an unexpected response after the charge', async () => {
  const started = startMock();
  expect(await verifyWithFault(started, { kind: 'truncated' })).toBeInstanceOf(UnexpectedResponseError);
  const { error, charged } = await chargeWithFault(started, { kind: 'truncated' });
  expect(error).toBeInstanceOf(OutcomeUnknownError);
  expect(error).toMatchObject(unknownBecauseOf(UnexpectedResponseError));
  expect(charged).toBe(1);
});
