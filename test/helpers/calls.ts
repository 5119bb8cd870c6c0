import type { OperationName, PaymentsClient, RequestOptions } from '../../src/index.ts';
import { charge, payment } from './service.ts';

export const REFERENCE = 'TXN-8f2c61d0';

type Call = (client: PaymentsClient, options?: RequestOptions) => Promise<unknown>;

/** Makes a valid call of each operation. */
export const calls: Record<OperationName, Call> = {
  initialize: (client, options) => client.initialize(payment, options),
  chargeMobileMoney: (client, options) => client.chargeMobileMoney(charge, options),
  verify: (client, options) => client.verify(REFERENCE, options),
};

/** The operations that can move money. */
export const posts = ['initialize', 'chargeMobileMoney'] as const;

export const operationNames = [...posts, 'verify'] as const;
