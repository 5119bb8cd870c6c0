/**
 * The service in memory, for a merchant's tests. Also the conformance suite for a journal.
 *
 * @module payment-collection-client/testing
 */

export type { MockCharge, PaymentControls } from './controls.ts';
export type {
  Fault,
  Faults,
  HangFault,
  LateApprovalFault,
  RateLimitedFault,
  ResetFault,
  ResponseLostFault,
  SlowBodyFault,
  StatusFault,
  TruncatedFault,
  UnrecognisedStatusFault,
  WrongAmountFault,
  WrongCurrencyFault,
  WrongReferenceFault,
} from './faults.ts';
export {
  type JournalCase,
  type JournalConformanceOptions,
  journalConformance,
  type OpenedJournal,
  type OpenJournal,
} from './journal-conformance/index.ts';
export type { FinalStatus, KnownStatus } from './ledger.ts';
export { createMockPayments, type MockPayments, type MockPaymentsOptions } from './mock.ts';
export type { RecordedRequest } from './service.ts';
export type {
  EarlyWebhookFault,
  ForgedWebhookFault,
  LateWebhookFault,
  LostWebhookFault,
  OutOfOrderWebhookFault,
  TwiceWebhookFault,
  WebhookFault,
} from './webhook-faults.ts';
export type {
  ForgedFields,
  WebhookAttempt,
  WebhookControls,
  WebhookDelivery,
  WebhookOptions,
  WebhookReceiver,
} from './webhooks.ts';
