import { describe, expect, test } from 'vitest';
import {
  APIError,
  AuthenticationError,
  ConflictError,
  InvalidRequestError,
  NotFoundError,
  OutcomeUnknownError,
  PaymentsError,
  PermissionError,
  RateLimitError,
  ServerError,
} from '../../../src/index.ts';
import { registeredRejections } from '../../helpers/allowed-ends.ts';
import { calls, posts, REFERENCE } from '../../helpers/calls.ts';
import { catchError, charge, payment, sendJson, startService } from '../../helpers/service.ts';

const named = [
  [400, InvalidRequestError, 'InvalidRequestError', 'invalid_request'],
  [401, AuthenticationError, 'AuthenticationError', 'authentication_error'],
  [402, APIError, 'APIError', 'api_error'],
  [403, PermissionError, 'PermissionError', 'permission_denied'],
  [404, NotFoundError, 'NotFoundError', 'not_found'],
  [405, APIError, 'APIError', 'api_error'],
  [409, ConflictError, 'ConflictError', 'conflict'],
  [413, APIError, 'APIError', 'api_error'],
  [422, InvalidRequestError, 'InvalidRequestError', 'invalid_request'],
  [425, APIError, 'APIError', 'api_error'],
  [429, RateLimitError, 'RateLimitError', 'rate_limited'],
] as const;

const startFailing = (status: number) =>
  startService((response) => sendJson(response, status, { message: 'No.' }, { 'x-request-id': 'req-7' }));

describe.each(named)('%i', (status, errorClass, name, code) => {
  test.each(posts)(`on %s is ${name} with outcome rejected`, async (operation) => {
    const service = await startFailing(status);
    const failure = await catchError(calls[operation](service.client()));
    expect(failure).toBeInstanceOf(errorClass);
    expect(failure).toBeInstanceOf(APIError);
    expect(failure).toBeInstanceOf(PaymentsError);
    expect(failure).toBeInstanceOf(Error);
    expect(failure).toMatchObject({
      name,
      code,
      operation,
      outcome: 'rejected',
      retryable: status === 429,
      status,
      body: { message: 'No.' },
      serviceMessage: 'No.',
      requestId: 'req-7',
    });
    expect(String(failure)).toContain('Nothing was charged by this call.');
  });

  test(`on verify is ${name}, with no outcome`, async () => {
    const service = await startFailing(status);
    const failure = await catchError(service.client().verify(REFERENCE));
    expect(failure).toBeInstanceOf(errorClass);
    expect(failure).toMatchObject({
      name,
      code,
      operation: 'verify',
      outcome: null,
      retryable: status === 425 || status === 429,
      status,
      body: { message: 'No.' },
      requestId: 'req-7',
    });
    expect(String(failure)).not.toContain('charged');
  });
});

/** Fetch handles 407 and 421 itself, before the client sees them. */
const client4xx = Array.from({ length: 100 }, (_, index) => 400 + index).filter(
  (status) => ![407, 408, 421].includes(status),
);

test('reports rejected on a POST after a registered 4xx, unknown after others', async () => {
  let status = 400;
  const service = await startService((response) => sendJson(response, status, {}));
  for (status of client4xx) {
    const failure = await catchError(service.client().chargeMobileMoney(charge));
    if (registeredRejections.includes(status)) {
      expect(failure).toBeInstanceOf(APIError);
      expect(failure).toMatchObject({ status, outcome: 'rejected', retryable: status === 429 });
    } else {
      expect(failure).toBeInstanceOf(OutcomeUnknownError);
      expect(failure).toMatchObject({
        outcome: 'unknown',
        retryable: false,
        cause: { name: 'APIError', status },
      });
    }
  }
  expect(service.requests).toHaveLength(client4xx.length);
});

const unknownStatuses = [408, 418, 499, 500, 501, 502, 503, 504, 505, 507, 511, 520, 522, 524, 530, 599];

test.each(unknownStatuses)(
  '%i on a charge is OutcomeUnknownError, with the APIError as its cause',
  async (status) => {
    const service = await startFailing(status);
    const failure = await catchError(service.client().chargeMobileMoney(charge));
    expect(failure).toBeInstanceOf(OutcomeUnknownError);
    expect(failure).toMatchObject({
      name: 'OutcomeUnknownError',
      code: 'outcome_unknown',
      operation: 'chargeMobileMoney',
      outcome: 'unknown',
      retryable: false,
      reference: undefined,
      cause: {
        name: status < 500 ? 'APIError' : 'ServerError',
        operation: 'chargeMobileMoney',
        outcome: 'unknown',
        retryable: false,
        status,
        body: { message: 'No.' },
        requestId: 'req-7',
      },
    });
    expect(String(failure)).toContain('Do not charge again');
  },
);

const temporary = unknownStatuses.filter((status) => status === 408 || status >= 500);

test.each(temporary)('throws the APIError of a %i on verify, and it is retryable', async (status) => {
  const service = await startFailing(status);
  const failure = await catchError(service.client().verify(REFERENCE));
  expect(failure).toBeInstanceOf(status === 408 ? APIError : ServerError);
  expect(failure).toMatchObject({ operation: 'verify', outcome: null, retryable: true, status });
});

test('reports that no customer was sent to an initialize with unknown outcome', async () => {
  const service = await startFailing(503);
  const failure = await catchError(service.client().initialize(payment));
  expect(failure).toBeInstanceOf(OutcomeUnknownError);
  expect(failure).toMatchObject({ operation: 'initialize', outcome: 'unknown', cause: { status: 503 } });
  expect(String(failure)).toContain('no customer was sent to it');
});

test('judges a 421, after which fetch sends again, by the last response', async () => {
  const service = await startFailing(421);
  const failure = await catchError(service.client({ maxRetries: 2 }).chargeMobileMoney(charge));
  expect(failure).toBeInstanceOf(APIError);
  expect(failure).toMatchObject({ status: 421, outcome: 'rejected', retryable: false });
  expect(service.requests.length).toBeLessThanOrEqual(2);
});
