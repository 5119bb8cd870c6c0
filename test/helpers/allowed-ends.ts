import { inspect } from 'node:util';
import { expect } from 'vitest';
import {
  APIError,
  ConnectionError,
  initializedPaymentSchema,
  type OperationName,
  OutcomeUnknownError,
  type PaymentsClient,
  PaymentsError,
  referenceSchema,
  ServerError,
  TransactionMismatchError,
  transactionSchema,
  transactionStatuses,
  UnexpectedResponseError,
} from '../../src/index.ts';
import { calls, REFERENCE } from './calls.ts';

/** The 4xx statuses of IANA's registry (RFC 9110), without 408: after these a charge is `rejected`. */
export const registeredRejections = Array.from({ length: 52 }, (_, index) => 400 + index).filter(
  (status) =>
    (status < 418 || status > 420) && ![408, 427, 430].includes(status) && (status < 432 || status > 450),
);

export type CallEnd = { value: unknown } | { error: unknown };

/** Calls an operation with a valid input. Returns its result or its error. */
export function callOperation(client: PaymentsClient, operation: OperationName): Promise<CallEnd> {
  return calls[operation](client).then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
}

export interface ServiceResponse {
  status: number;
  body: string;
  /** Whether fetch fails while it reads this response. */
  breaksFetch: boolean;
}

/**
 * Expects that the end of a call is allowed after this response: `not_sent` and `rejected` only if no charge can exist.
 * Returns `result` or the error's class.
 */
export function expectAllowedEnd(operation: OperationName, response: ServiceResponse, end: CallEnd): string {
  if ('value' in end) {
    expect(Math.floor(response.status / 100)).toBe(2);
    expectAllowedResult(operation, end.value);
    return 'result';
  }
  const { error } = end;
  if (!(error instanceof PaymentsError)) throw error;
  expect(error.operation).toBe(operation);
  expect(JSON.stringify(error).length + inspect(error, { depth: 12 }).length).toBeLessThan(300_000);
  if (operation === 'verify') expectAllowedReadError(response, error);
  else expectAllowedPostError(response, error);
  return error.name;
}

function expectAllowedResult(operation: OperationName, value: unknown): void {
  if (operation === 'verify') {
    expect(transactionSchema.parse(value)).toEqual(value);
    expect(value).toMatchObject({ reference: REFERENCE });
    return;
  }
  if (operation === 'initialize') {
    expect(initializedPaymentSchema.parse(value)).toEqual(value);
  } else {
    expect(value).toMatchObject({ message: expect.any(String), status: expect.any(String) });
    const { reference, status } = value as { reference: string; status: string };
    expect(referenceSchema.safeParse(reference).success).toBe(true);
    expect([...transactionStatuses, 'unrecognised']).toContain(status);
  }
  expect(value).toMatchObject({
    amount: expect.stringMatching(/^0*25\.50*$/),
    currency: expect.stringMatching(/^GHS$/i),
  });
}

function expectAllowedReadError({ status, breaksFetch }: ServiceResponse, error: PaymentsError): void {
  expect(error.outcome).toBeNull();
  const isTemporary = status >= 500 || [408, 425, 429].includes(status);
  if (error instanceof ConnectionError) {
    expect({ breaksFetch, retryable: error.retryable }).toEqual({ breaksFetch: true, retryable: true });
    return;
  }
  if (status >= 400) {
    expect(error).toBeInstanceOf(status >= 500 ? ServerError : APIError);
    expect(error).toMatchObject({ status, retryable: isTemporary });
    return;
  }
  if (status >= 300) {
    expect(error).toBeInstanceOf(UnexpectedResponseError);
    expect(error).toMatchObject({ status, retryable: false });
    return;
  }
  const allowed = [UnexpectedResponseError, TransactionMismatchError, APIError];
  expect(allowed.some((kind) => error instanceof kind)).toBe(true);
  expect(error.retryable).toBe(error instanceof UnexpectedResponseError);
}

function expectAllowedPostError({ status, body, breaksFetch }: ServiceResponse, error: PaymentsError): void {
  if (error instanceof TransactionMismatchError) {
    expect(Math.floor(status / 100)).toBe(2);
    expect(error).toMatchObject({ outcome: 'unknown', retryable: false });
    return;
  }
  if (error.outcome !== 'unknown') {
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ status, outcome: 'rejected', retryable: status === 429 });
    if (status < 300) expect(JSON.parse(body)).toMatchObject({ status: false });
    else expect(registeredRejections).toContain(status);
    expect(body).not.toMatch(/TXN-\S/i);
    return;
  }
  expect(error).toBeInstanceOf(OutcomeUnknownError);
  expect(error.retryable).toBe(false);
  const { cause } = error;
  if (cause instanceof ConnectionError) {
    expect(breaksFetch).toBe(true);
    return;
  }
  expect(cause).toMatchObject({ status, outcome: 'unknown', retryable: false });
  if (status >= 500) expect(cause).toBeInstanceOf(ServerError);
  else if (status >= 400) expect(cause).toBeInstanceOf(APIError);
  else if (status >= 300) expect(cause).toBeInstanceOf(UnexpectedResponseError);
  else expect(cause instanceof UnexpectedResponseError || cause instanceof APIError).toBe(true);
  const isRejection = registeredRejections.includes(status);
  if (isRejection) expect(breaksFetch || /TXN-\S/i.test(body) || hasTransactionFields(body)).toBe(true);
}

/** Whether a response that refuses a charge has the fields of a transaction all the same. */
function hasTransactionFields(body: string): boolean {
  const hasStatus = /"data"\s*:\s*\{[\s\S]*"status"\s*:\s*"/.test(body);
  return hasStatus || /"(?:transaction_?)?reference"\s*:/i.test(body);
}
