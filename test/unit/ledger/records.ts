import type { LedgerRecord, Payment } from '../../../src/ledger/record.ts';

/** When the payments of these tests began. */
export const BEGAN_AT = 1_000_000_000;

/** A payment that the service made. */
export const madePayment: Payment = {
  operation: 'chargeMobileMoney',
  amount: '25.50',
  currency: 'GHS',
  network: 'mtn',
  phone: 'abcde',
  fingerprint: 'digest',
  attempt: 'attempt-1',
  attempts: 1,
  requestIds: ['request-1'],
  createdAt: BEGAN_AT,
  pressed: 1,
  charge: {
    is: 'made',
    result: { reference: 'TXN-1', amount: '25.50', currency: 'GHS', status: 'processing' },
  },
  resolutions: [],
  told: { attention: [] },
  pace: { nextAt: BEGAN_AT + 8_000, slow: 0 },
  schedule: { initialDelay: 8_000, minDelay: 3_000, maxDelay: 15_000, timeout: 600_000 },
  finalStatuses: ['success', 'failed', 'abandoned'],
};

/** An order with one payment. */
export const createOrder = (payment: Payment = madePayment): LedgerRecord => ({
  format: 1,
  kind: 'order',
  service: 'digest of base URL and mode',
  price: { amount: '25.50', currency: 'GHS' },
  presses: 1,
  payments: [payment],
});
