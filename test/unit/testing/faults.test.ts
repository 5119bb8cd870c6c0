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
  UnexpectedResponseError,
} from '../../../src/index.ts';
import { createMockPayments } from '../../../src/testing/index.ts';
import { failureOf } from '../../helpers/service.ts';
import { charge, payment, startMock } from './start-mock.ts';
import { chargeUnder, patience, unknown, verifyUnder } from './under-faults.ts';

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

  test('responseLost: the service has acted', async () => {
    const shop = startMock();
    const { error, charged } = await chargeUnder(shop, { kind: 'responseLost' });
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ ...unknown(ConnectionError), reference: undefined });
    expect(charged).toBe(1);
    expect(await verifyUnder(shop, { kind: 'responseLost' })).toBeInstanceOf(ConnectionError);
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

  test('hang charges while the client still waits for the response', async () => {
    const { mock, payments } = startMock();
    mock.fault('chargeMobileMoney', { kind: 'hang', accepted: true });
    const abort = new AbortController();
    let ended = false;
    const { signal } = abort;
    const call = failureOf(payments.chargeMobileMoney(charge, { signal })).finally(() => {
      ended = true;
    });
    await vi.waitFor(() => expect(mock.charges).toHaveLength(1), { timeout: 15_000 });
    expect(ended).toBe(false);
    abort.abort();
    expect(await call).toBeInstanceOf(OutcomeUnknownError);
    expect(mock.charges).toHaveLength(1);
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

  test('slowBody', async () => {
    const shop = startMock();
    expect(await verifyUnder(shop, { kind: 'slowBody' })).toBeInstanceOf(RequestTimeoutError);
    const { error, charged } = await chargeUnder(shop, { kind: 'slowBody', interval: 5 });
    expect(error).toMatchObject(unknown(RequestTimeoutError));
    expect(charged).toBe(1);
  });

  test('a dribble is whole in the end, by the clock of the test', async () => {
    vi.useFakeTimers();
    onTestFinished(() => {
      vi.useRealTimers();
    });
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
