import type { PaymentsClient } from 'payment-collection-client';
import type { PgBoss } from 'pg-boss';
import { nextCheck } from '../shop/check-schedule.ts';
import type { Order, OrderState, Orders } from '../shop/orders.ts';
import { checkSchedule } from '../shop/settings.ts';
import { isRejection, isTemporary, readRetryAfter } from './engine-errors.ts';
import { addCharge, addCheck, type ChargeJob, type CheckJob, type RunningJob } from './queues.ts';

interface Shop {
  readonly orders: Orders;
  /** With a journal: pg-boss runs a job again if its worker was killed, and would charge again. */
  readonly payments: PaymentsClient;
  readonly boss: PgBoss;
}

/**
 * The two kinds of jobs. Each returns the state of the order, which pg-boss stores as the job's output. Each adds the next
 * job in the transaction in which pg-boss completes this one: a worker that is killed leaves both or neither.
 */
export function orderWorkflow({ orders, payments, boss }: Shop) {
  return { charge, check };

  /** Charges an order, and adds the first check of its payment. */
  async function charge(job: RunningJob<ChargeJob>): Promise<OrderState> {
    const order = orders.get(job.data.orderId);
    try {
      if (order.state === 'placed') await chargeOnce(order);
    } catch (error) {
      if (!isTemporary(error)) return recordFailure(order, error);
      const delay = readRetryAfter(error);
      // pg-boss retries after its own backoff. It takes another job to wait for as long as the service asks.
      if (delay === undefined) throw error;
      await addCharge(boss, job.data, { delay, by: job });
      return order.state;
    }
    const next = findCheck(orders.get(order.id));
    return next ? await checkLater(order.id, next, job) : order.state;
  }

  /** Checks a payment once. */
  async function check(job: RunningJob<CheckJob>): Promise<OrderState | undefined> {
    const { reference, chargedAt } = job.data;
    const order = orders.findByReference(reference);
    if (!order || !isOpen(order)) return order?.state;
    try {
      const { final, transaction, retryAfter } = await payments.check(reference, { signal: job.signal });
      if (final) return orders.applyFinalStatus(order.id, transaction);
      return await checkLater(order.id, job.data, job, retryAfter);
    } catch (error) {
      if (!isTemporary(error, Date.now() - chargedAt)) return recordFailure(order, error);
      const delay = readRetryAfter(error);
      if (delay === undefined) throw error;
      await addCheck(boss, job.data, { delay, by: job });
      return order.state;
    }
  }

  /** The client charges an order once, however often this runs. */
  async function chargeOnce({ id, amount, currency, customer_email, phone, network }: Order): Promise<void> {
    const { reference } = await payments.chargeMobileMoney(
      { amount, currency, customer_email, phone, network },
      { idempotencyKey: id },
    );
    orders.markCharged(id, reference, Date.now());
  }

  /** Adds the next check. At the deadline it releases the goods, and the checks continue: an approval might still come. */
  async function checkLater(
    id: string,
    next: CheckJob,
    by: RunningJob<unknown>,
    retryAfter?: number,
  ): Promise<OrderState> {
    const elapsed = Date.now() - next.chargedAt;
    const schedule = nextCheck({ elapsed, retryAfter, random: Math.random() }, checkSchedule);
    if (!schedule || schedule.isAfterDeadline) orders.release(id);
    if (schedule) await addCheck(boss, next, { delay: schedule.delay, by });
    return orders.get(id).state;
  }

  /** Ends an order that no retry can help. Its job completes, so pg-boss does not retry it. */
  function recordFailure({ id, reference }: Order, error: unknown): OrderState {
    const message = error instanceof Error ? error.message : String(error);
    if (reference === null && isRejection(error)) orders.reject(id, message);
    else orders.holdForReview(id, message);
    return orders.get(id).state;
  }
}

const isOpen = ({ state }: Order) => state === 'waiting' || state === 'released';

/** Returns the check that an order still needs, or `undefined`. */
export function findCheck({ state, reference, charged_at }: Order): CheckJob | undefined {
  if (reference === null || charged_at === null) return undefined;
  const elapsed = Date.now() - charged_at;
  const isDue = state === 'waiting' || (state === 'released' && nextCheck({ elapsed }, checkSchedule));
  return isDue ? { reference, chargedAt: charged_at } : undefined;
}
