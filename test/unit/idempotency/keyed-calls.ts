import type { CreateOptions, PaymentsClient } from '../../../src/index.ts';
import { charge, payment } from '../../helpers/service.ts';

export const KEY = 'order-17';
export const posts = ['initialize', 'chargeMobileMoney'] as const;

/** A valid call of each operation that takes a key, under {@link KEY}. */
export const keyed = {
  initialize: (client: PaymentsClient, options: CreateOptions = {}) =>
    client.initialize(payment, { idempotencyKey: KEY, ...options }),
  chargeMobileMoney: (client: PaymentsClient, options: CreateOptions = {}) =>
    client.chargeMobileMoney(charge, { idempotencyKey: KEY, ...options }),
};

/** The same result as a later call under its key gives it. */
export const replayOf = (result: object) => ({
  ...result,
  ...('message' in result ? { message: '' } : {}),
  replayed: true,
});

export const charged = keyed.chargeMobileMoney;

/** A fetch that finds nobody at the address it is given, as the runtime's own says it. */
export const refusedConnection = async (url: string): Promise<Response> => {
  const { hostname, port } = new URL(url);
  const said = { code: 'ECONNREFUSED', syscall: 'connect', address: hostname, port: Number(port) };
  const cause = Object.assign(new Error(`connect ECONNREFUSED ${hostname}:${port}`), said);
  throw new TypeError('fetch failed', { cause });
};
