import { expectTypeOf, test } from 'vitest';
import {
  type AnyPaymentsError,
  APIError,
  type AuthenticationError,
  type ClosedError,
  type ConfigurationError,
  type ConflictError,
  type ConnectionError,
  type IdempotencyConflictError,
  type InvalidInputError,
  type InvalidRequestError,
  isPaymentsError,
  type JournalError,
  type Mismatch,
  type NextStep,
  type NotFoundError,
  type Outcome,
  OutcomeUnknownError,
  type PaymentsErrorCode,
  type PermissionError,
  RateLimitError,
  type RequestTimeoutError,
  type ServerError,
  TransactionMismatchError,
  type UnexpectedResponseError,
  type WaitTimeoutError,
} from '../../../src/index.ts';

declare const caught: unknown;

interface Codes {
  api_error: APIError;
  authentication_error: AuthenticationError;
  closed: ClosedError;
  configuration_error: ConfigurationError;
  conflict: ConflictError;
  connection_error: ConnectionError;
  idempotency_conflict: IdempotencyConflictError;
  invalid_input: InvalidInputError;
  invalid_request: InvalidRequestError;
  journal_error: JournalError;
  not_found: NotFoundError;
  outcome_unknown: OutcomeUnknownError;
  permission_denied: PermissionError;
  rate_limited: RateLimitError;
  request_timeout: RequestTimeoutError;
  server_error: ServerError;
  transaction_mismatch: TransactionMismatchError;
  unexpected_response: UnexpectedResponseError;
  wait_timeout: WaitTimeoutError;
}

test('gives each class one code, as a literal', () => {
  expectTypeOf<PaymentsErrorCode>().toEqualTypeOf<keyof Codes>();
  // APIError is the class of its subclasses too, so its own code is any of theirs.
  type CodeOf = { [Code in Exclude<keyof Codes, 'api_error'>]: Codes[Code]['code'] };
  expectTypeOf<CodeOf>().toEqualTypeOf<{ [Code in Exclude<keyof Codes, 'api_error'>]: Code }>();
  expectTypeOf<APIError['code']>().toEqualTypeOf<PaymentsErrorCode>();
});

test('narrows by instanceof to the properties of the class', () => {
  if (caught instanceof OutcomeUnknownError) {
    expectTypeOf(caught.reference).toEqualTypeOf<string | undefined>();
    expectTypeOf(caught.name).toEqualTypeOf<'OutcomeUnknownError'>();
  }
  if (caught instanceof RateLimitError) {
    expectTypeOf(caught.retryAfter).toEqualTypeOf<number | undefined>();
    expectTypeOf(caught.status).toEqualTypeOf<number>();
  }
  if (caught instanceof TransactionMismatchError) {
    expectTypeOf(caught.mismatches).toEqualTypeOf<readonly Mismatch[]>();
    expectTypeOf(caught.transaction.reference).toEqualTypeOf<string>();
  }
  if (caught instanceof APIError) {
    expectTypeOf(caught.body).toEqualTypeOf<unknown>();
    expectTypeOf(caught.requestId).toEqualTypeOf<string | undefined>();
  }
});

test('narrows an error of the union by its code', () => {
  if (!isPaymentsError(caught)) return;
  expectTypeOf(caught).toEqualTypeOf<AnyPaymentsError>();
  expectTypeOf(caught.code).toEqualTypeOf<keyof Codes>();
  expectTypeOf(caught.nextStep).toEqualTypeOf<NextStep>();
  expectTypeOf(caught.outcome).toEqualTypeOf<Outcome | null>();
  if (caught.code === 'rate_limited') {
    expectTypeOf(caught).toEqualTypeOf<RateLimitError>();
    expectTypeOf(caught.retryAfter).toEqualTypeOf<number | undefined>();
  }
  if (caught.code === 'idempotency_conflict') {
    expectTypeOf(caught.nextStep).toEqualTypeOf<'check'>();
    expectTypeOf(caught.outcome).toEqualTypeOf<'unknown'>();
    expectTypeOf(caught.idempotencyKey).toEqualTypeOf<string>();
  }
  if (caught.code === 'api_error') expectTypeOf(caught.serviceMessage).toEqualTypeOf<string | undefined>();
  // @ts-expect-error A timeout has no such field.
  if (caught.code === 'request_timeout') return caught.retryAfter;
});

test('narrows an error of the union by its next step', () => {
  if (!isPaymentsError(caught)) return;
  if (caught.nextStep === 'correct')
    expectTypeOf<
      Extract<typeof caught, { code: 'outcome_unknown' | 'wait_timeout' }>
    >().toEqualTypeOf<never>();
  switch (caught.nextStep) {
    case 'retry':
    case 'correct':
    case 'review':
    case 'check':
      return;
    default:
      expectTypeOf(caught).toEqualTypeOf<never>();
  }
});
