/**
 * The service in memory, for a merchant's tests. Also the conformance suite for a journal.
 *
 * @module payment-collection-client/testing
 */

export {
  type JournalCase,
  type JournalConformanceOptions,
  journalConformance,
  type OpenedStore,
  type OpenStore,
} from '../conformance/index.ts';
export type { Fault, Faults, ForgedFields, WebhookFault } from '../service/faults.ts';
export type { FinalStatus, KnownStatus } from '../service/ledger.ts';
export type { RecordedRequest } from '../service/service.ts';
export type {
  WebhookAttempt,
  WebhookDelivery,
  WebhookOptions,
  WebhookReceiver,
} from '../service/webhook-delivery.ts';
export type { WebhookControls } from '../service/webhooks.ts';
export type { MockCharge, PaymentControls } from './controls.ts';
export { createMockPayments, type MockPayments, type MockPaymentsOptions } from './mock.ts';
