export {
  APIError,
  AuthenticationError,
  ConflictError,
  type FieldError,
  InvalidRequestError,
  NotFoundError,
  PermissionError,
  RateLimitError,
  ServerError,
} from './api-errors.ts';
export { PaymentsClient } from './client.ts';
export type { MobileMoneyCharge } from './contract/answer.ts';
export {
  type ChargeMobileMoneyInput,
  chargeMobileMoneyInputSchema,
  type Expectation,
  expectationSchema,
  type InitializeInput,
  initializeInputSchema,
  type Network,
  networks,
} from './contract/input.ts';
export type { Mismatch, OperationName } from './contract/operation.ts';
export { referenceSchema } from './contract/reference.ts';
export {
  type InitializedPayment,
  initializedPaymentSchema,
  type Transaction,
  type TransactionStatus,
  transactionSchema,
  transactionStatuses,
} from './contract/transaction.ts';
export {
  type AnyTransaction,
  ClosedError,
  ConfigurationError,
  ConnectionError,
  IdempotencyConflictError,
  type InputIssue,
  InvalidInputError,
  type Outcome,
  OutcomeUnknownError,
  PaymentsError,
  type PaymentsErrorCode,
  RequestTimeoutError,
  TransactionMismatchError,
  UnexpectedResponseError,
} from './errors.ts';
export type { Logger, PaymentsEvent, RequestEvent, ResponseEvent, RetryEvent } from './events.ts';
export type { CreateOptions, PaymentsClientOptions, RequestOptions, VerifyOptions } from './options.ts';
