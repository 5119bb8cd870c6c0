import { type CheckSchedule, defaultCheckSchedule } from './check-schedule.ts';

/** The file of the orders. The client itself reads `PAYMENTS_BASE_URL` and `PAYMENTS_API_KEY`. */
export const ordersFile = process.env.ORDERS_FILE ?? 'orders.db';

/** The tests set another schedule as JSON, because they cannot wait for ten minutes. */
export const checkSchedule: CheckSchedule = {
  ...defaultCheckSchedule,
  ...JSON.parse(process.env.CHECK_SCHEDULE ?? '{}'),
};

/** The address on which the shop listens. */
export const shopUrl = new URL(process.env.SHOP_URL ?? 'http://127.0.0.1:4020');

/** How long a claim of a charge lasts after its process's last heartbeat, in milliseconds. */
export const lease = Number(process.env.JOURNAL_LEASE ?? 10_000);

/** The timeout of one attempt of a request, in milliseconds. */
export const timeout = Number(process.env.PAYMENTS_TIMEOUT ?? 15_000);
