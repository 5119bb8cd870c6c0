/**
 * The service in memory, for a merchant's tests. Also the conformance suite for a journal.
 *
 * @module payment-collection-client/testing
 */

export type { MockCharge, PaymentControls } from './controls.ts';
export type { Fault, Faults, ForgedFields, WebhookFault } from './faults.ts';
export {
  type JournalCase,
  type JournalConformanceOptions,
  journalConformance,
  type OpenedStore,
  type OpenStore,
} from './journal-conformance/index.ts';
export type { FinalStatus, KnownStatus } from './ledger.ts';
export { createMockPayments, type MockPayments, type MockPaymentsOptions } from './mock.ts';
export type { RecordedRequest } from './service.ts';
export type {
  WebhookAttempt,
  WebhookDelivery,
  WebhookOptions,
  WebhookReceiver,
} from './webhook-delivery.ts';
export type { WebhookControls } from './webhooks.ts';
