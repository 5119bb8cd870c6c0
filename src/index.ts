/**
 * The client, its errors, and the types and schemas of what goes in and comes out. All durations are in milliseconds.
 *
 * @module payment-collection-client
 */

export {
  type ChargeMobileMoneyInput,
  chargeMobileMoneyInputSchema,
  type Expectation,
  expectationSchema,
  type InitializeInput,
  initializeInputSchema,
  type Network,
  networks,
  referenceSchema,
} from './api/input.ts';
export type { Mismatch, OperationName } from './api/operations.ts';
export {
  type AbandonedTransaction,
  type FailedTransaction,
  type InitializedPayment,
  initializedPaymentSchema,
  type KnownStatus,
  type MobileMoneyCharge,
  type PendingTransaction,
  type ProcessingTransaction,
  type RecognisedCharge,
  type SuccessfulTransaction,
  type Transaction,
  type TransactionStatus,
  transactionSchema,
  transactionStatuses,
  type UnrecognisedCharge,
  type UnrecognisedTransaction,
} from './api/transaction.ts';
export { PaymentsClient } from './client.ts';
export {
  type AnyPaymentsError,
  type AnyTransaction,
  APIError,
  AuthenticationError,
  ClosedError,
  ConfigurationError,
  ConflictError,
  ConnectionError,
  type ErrorFacts,
  type FieldError,
  IdempotencyConflictError,
  type InputIssue,
  InvalidInputError,
  InvalidRequestError,
  isPaymentsError,
  JournalError,
  type NextStep,
  NotFoundError,
  type Outcome,
  OutcomeUnknownError,
  PaymentsError,
  type PaymentsErrorCode,
  PermissionError,
  RateLimitError,
  RequestTimeoutError,
  ServerError,
  TransactionMismatchError,
  UnexpectedResponseError,
  WaitTimeoutError,
} from './errors.ts';
export type {
  AttentionReason,
  FollowUpEvent,
  JournalEvent,
  JournalWarningEvent,
  Logger,
  PaymentsEvent,
  PollEvent,
  RequestEvent,
  ResolvedEvent,
  ResponseEvent,
  RetryEvent,
  WaitEvent,
  WarningEvent,
} from './events.ts';
export type { RequestTrace } from './http/tracing.ts';
export type { Journal, JournalEntry } from './journal/journal.ts';
export type { Resolution, ResolutionNote } from './journal/resolution.ts';
export type {
  CloseOptions,
  CreateArguments,
  CreateOptions,
  Fetch,
  FetchInit,
  FetchResponse,
  KeyedOptions,
  PaymentsClientOptions,
  Poll,
  PollingOptions,
  ReconcileItem,
  ReconcileOptions,
  RequestOptions,
  ResolveOptions,
  ResponseSink,
  Transport,
  TransportRequest,
  UnkeyedOptions,
  VerifyOptions,
  WaitOptions,
} from './options.ts';
export type { CheckResult } from './polling/check.ts';
export type { ReconcileResult } from './polling/reconcile.ts';
export type { Schedule } from './schedule.ts';
