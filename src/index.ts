/**
 * The client, its errors, and the types and schemas of what goes in and comes out. All durations are in milliseconds.
 *
 * @module payment-collection-client
 */

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
export type {
  InitializedPayment,
  MobileMoneyCharge,
  RecognisedCharge,
  UnrecognisedCharge,
} from './contract/answer.ts';
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
  type AbandonedTransaction,
  type FailedTransaction,
  initializedPaymentSchema,
  type PendingTransaction,
  type ProcessingTransaction,
  type SuccessfulTransaction,
  type Transaction,
  type TransactionStatus,
  transactionSchema,
  transactionStatuses,
  type UnrecognisedTransaction,
} from './contract/transaction.ts';
export {
  ClosedError,
  ConfigurationError,
  type ErrorFacts,
  IdempotencyConflictError,
  type InputIssue,
  InvalidInputError,
  type Outcome,
  PaymentsError,
  type PaymentsErrorCode,
} from './errors.ts';
export type {
  JournalEvent,
  JournalWarningEvent,
  Logger,
  PaymentsEvent,
  PollEvent,
  RequestEvent,
  ResponseEvent,
  RetryEvent,
  WaitEvent,
} from './events.ts';
export type { Journal } from './journal/journal.ts';
export { JournalError } from './journal/journal-error.ts';
export type {
  CreateOptions,
  Fetch,
  FetchInit,
  FetchResponse,
  KeyedOptions,
  PaymentsClientOptions,
  RequestOptions,
  ResponseSink as TransportAnswer,
  Transport,
  TransportRequest,
  UnkeyedOptions,
  VerifyOptions,
} from './options.ts';
export type { CheckResult as Check } from './polling/check.ts';
export type { ReconcileResult as Reconciled } from './polling/reconcile.ts';
export type { Schedule } from './polling/schedule.ts';
export type {
  KnownStatus,
  Poll,
  PollingOptions,
  ReconcileItem,
  ReconcileOptions,
  WaitOptions,
} from './polling-options.ts';
export {
  type AnyTransaction,
  ConnectionError,
  OutcomeUnknownError,
  RequestTimeoutError,
  TransactionMismatchError,
  UnexpectedResponseError,
} from './request-errors.ts';
export { WaitTimeoutError } from './wait-timeout-error.ts';
