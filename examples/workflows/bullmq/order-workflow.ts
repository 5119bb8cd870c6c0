import { DelayedError, type Job, UnrecoverableError } from 'bullmq';
import type { PaymentsClient } from 'payment-collection-client';
import { nextCheck } from '../shop/check-schedule.ts';
import type { Order, OrderState, Orders } from '../shop/orders.ts';
import { checkSchedule } from '../shop/settings.ts';
import type { OrderQueue } from './engine.ts';
import { isRejection, toEngineError } from './engine-errors.ts';
import { applyMissedNotification } from './notifications.ts';
import type { OrderJob, OrderProcessor } from './queue.ts';

interface Shop {
  readonly orders: Orders;
  /** With a journal: BullMQ runs a job again if its worker was killed, and would charge again. */
  readonly payments: PaymentsClient;
  readonly queue: OrderQueue;
}

/**
 * Runs one step of an order: the charge, or one check of its payment. BullMQ runs the job again until the order is final.
 * Each run starts from the state in the shop's table, so a worker can be killed after any line.
 */
export function orderWorkflow({ orders, payments, queue }: Shop): OrderProcessor {
  return async (job, token) => {
    const order = orders.get(job.data.orderId);
    if (!isOpen(order)) return order.state;
    try {
      if (order.reference === null) {
        await charge(order);
        return await checkLater(job, token);
      }
      const { final, transaction, retryAfter } = await payments.check(order.reference);
      if (final) return orders.applyFinalStatus(order.id, transaction);
      return await checkLater(job, token, retryAfter);
    } catch (error) {
      throw recordFailure(order, error);
    }
  };

  async function charge({ id, amount, currency, customer_email, phone, network }: Order): Promise<void> {
    const { reference } = await payments.chargeMobileMoney(
      { amount, currency, customer_email, phone, network },
      { idempotencyKey: id },
    );
    orders.markCharged(id, reference, Date.now());
  }

  /** Delays the job. A pending payment is not a failure, so the delay uses no attempt of the job. */
  async function checkLater(job: Job<OrderJob>, token?: string, retryAfter?: number): Promise<OrderState> {
    const { id, charged_at } = orders.get(job.data.orderId);
    const now = Date.now();
    const next = nextCheck(
      { elapsed: now - (charged_at ?? now), retryAfter, random: Math.random() },
      checkSchedule,
    );
    if (!next || next.isAfterDeadline) orders.release(id);
    if (!next) return orders.get(id).state;
    await job.moveToDelayed(now + next.delay, token);
    await applyMissedNotification(queue, job);
    throw new DelayedError();
  }

  /** Changes the order before its job fails for good. Returns the error for BullMQ. */
  function recordFailure({ id, reference, charged_at }: Order, error: unknown): unknown {
    const thrown = toEngineError(error, charged_at === null ? undefined : Date.now() - charged_at);
    if (thrown instanceof UnrecoverableError) {
      if (reference === null && isRejection(error)) orders.reject(id, thrown.message);
      else orders.holdForReview(id, thrown.message);
    }
    return thrown;
  }
}

const isOpen = ({ state }: Order) => state === 'placed' || state === 'waiting' || state === 'released';

/** Whether an open order has checks left. */
export function needsChecks({ state, charged_at }: Order): boolean {
  return (
    state !== 'released' || nextCheck({ elapsed: Date.now() - (charged_at ?? 0) }, checkSchedule) !== null
  );
}
