import type { CreateOptions, PaymentsClient } from '../../src/index.ts';
import { charge, payment } from './service.ts';

export const KEY = 'order-17';
export const posts = ['initialize', 'chargeMobileMoney'] as const;

/** A valid call of each operation that takes a key, under {@link KEY}. */
export const keyed = {
  initialize: (client: PaymentsClient, options: CreateOptions = {}) =>
    client.initialize(payment, { idempotencyKey: KEY, ...options }),
  chargeMobileMoney: (client: PaymentsClient, options: CreateOptions = {}) =>
    client.chargeMobileMoney(charge, { idempotencyKey: KEY, ...options }),
};

/** What is stored of a result, and so replayed: the fields that the service documents. */
const STORED = new Set([
  'reference',
  'status',
  'raw_status',
  'amount',
  'currency',
  'checkout_url',
  'paid_at',
]);

/** The replay of a result. */
export const replayOf = (result: object) => ({
  ...Object.fromEntries(Object.entries(result).filter(([name]) => STORED.has(name))),
  ...('message' in result ? { message: '' } : {}),
  replayed: true,
});

export const charged = keyed.chargeMobileMoney;

/** A fetch that gets no connection, with the error of the runtime's own. */
export const refusedConnection = async (url: string): Promise<Response> => {
  const { hostname, port } = new URL(url);
  const facts = { code: 'ECONNREFUSED', syscall: 'connect', address: hostname, port: Number(port) };
  const cause = Object.assign(new Error(`connect ECONNREFUSED ${hostname}:${port}`), facts);
  throw new TypeError('fetch failed', { cause });
};
