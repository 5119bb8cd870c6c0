import { type CheckSchedule, defaultCheckSchedule } from './check-schedule.ts';

/** The file of the orders. The client itself reads `PAYMENTS_BASE_URL` and `PAYMENTS_API_KEY`. */
export const ordersFile = process.env.ORDERS_FILE ?? 'orders.db';

/** The tests set another schedule as JSON, because they cannot wait for ten minutes. */
export const checkSchedule: CheckSchedule = {
  ...defaultCheckSchedule,
  ...JSON.parse(process.env.CHECK_SCHEDULE ?? '{}'),
};

/** The timeout of one attempt of a request, in milliseconds. */
export const timeout = Number(process.env.PAYMENTS_TIMEOUT ?? 15_000);
