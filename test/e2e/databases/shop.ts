/** What the shop of these tests charges, in any process. */

import {
  type ChargeMobileMoneyInput,
  type CreateOptions,
  PaymentsClient,
  type PaymentsClientOptions,
} from '../../../src/index.ts';

/** What must be in no record. */
export const API_KEY = 'sk_test_4vK9qLm2Xw7RtZ';
export const EMAIL = 'ama.serwaa@example.com';
export const PHONE = '024 412 3456';

export const input: ChargeMobileMoneyInput = {
  amount: '25.50',
  customer_email: EMAIL,
  phone: PHONE,
  network: 'mtn',
};

/** A follow-up that a database took with it is due again after this, and 10 seconds more, in milliseconds. */
const TIMEOUT = 3_000;

/** A charge can wait for a database that is started again, and for a busy machine. In milliseconds. */
const CHARGE_TIMEOUT = 120_000;

/** Creates the client of one process. It makes no retries, so that each POST is one call. */
export function createClient(options: PaymentsClientOptions): PaymentsClient {
  return new PaymentsClient({ apiKey: API_KEY, maxRetries: 0, timeout: TIMEOUT, ...options });
}

/** Charges an order under its key, and returns the reference. */
export async function chargeOrder(payments: PaymentsClient, key: string): Promise<string> {
  const options: CreateOptions = {
    idempotencyKey: key,
    extraBody: { order: key },
    timeout: CHARGE_TIMEOUT,
  };
  const { reference } = await payments.chargeMobileMoney(input, options);
  return reference;
}
