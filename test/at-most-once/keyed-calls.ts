import type { CreateOptions, PaymentsClient } from '../../src/index.ts';
import { charge, payment } from '../support/service.ts';

export const KEY = 'order-17';
export const posts = ['initialize', 'chargeMobileMoney'] as const;

/** A valid call of each operation that takes a key, under {@link KEY}. */
export const keyed = {
  initialize: (client: PaymentsClient, options: CreateOptions = {}) =>
    client.initialize(payment, { idempotencyKey: KEY, ...options }),
  chargeMobileMoney: (client: PaymentsClient, options: CreateOptions = {}) =>
    client.chargeMobileMoney(charge, { idempotencyKey: KEY, ...options }),
};

export const charged = keyed.chargeMobileMoney;
