import { type Looks, usualLooks } from './looks.ts';

/** Where things are. The client itself reads `PAYMENTS_BASE_URL` and `PAYMENTS_API_KEY`. */
export const ordersFile = process.env.ORDERS_FILE ?? 'orders.db';

/** Other looks than usual, as JSON: for the tests, which cannot wait for ten minutes. */
export const looks: Looks = { ...usualLooks, ...JSON.parse(process.env.LOOKS ?? '{}') };

/** One attempt of a request, in milliseconds. */
export const timeout = Number(process.env.PAYMENTS_TIMEOUT ?? 15_000);
