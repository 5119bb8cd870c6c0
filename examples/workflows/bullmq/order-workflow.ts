import { DelayedError, type Job, UnrecoverableError } from 'bullmq';
import type { PaymentsClient } from 'payment-collection-client';
import { nextLook } from '../shop/looks.ts';
import type { Order, OrderState, Orders } from '../shop/orders.ts';
import { looks } from '../shop/settings.ts';
import type { OrderQueue } from './engine.ts';
import { engineError, isRefusal } from './engine-errors.ts';
import { heedHint } from './hints.ts';
import type { OrderJob, OrderProcessor } from './queue.ts';

interface Shop {
  readonly orders: Orders;
  /** With a journal: BullMQ runs a job again whose worker died, and would charge again. */
  readonly payments: PaymentsClient;
  readonly queue: OrderQueue;
}

/**
 * One step of an order's way: the charge, or one look at it. BullMQ runs it again until the order is settled, each time
 * from the state in the shop's own table, so that it does not matter after which line a worker dies.
 */
export function orderWorkflow({ orders, payments, queue }: Shop): OrderProcessor {
  return async (job, token) => {
    const order = orders.get(job.data.orderId);
    if (!isOpen(order)) return order.state;
    try {
      if (order.reference === null) {
        await charge(order);
        return await lookLater(job, token);
      }
      const { final, transaction, retryAfter } = await payments.check(order.reference);
      if (final) return orders.conclude(order.id, transaction);
      return await lookLater(job, token, retryAfter);
    } catch (error) {
      throw settled(order, error);
    }
  };

  async function charge({ id, amount, currency, customer_email, phone, network }: Order): Promise<void> {
    const { reference } = await payments.chargeMobileMoney(
      { amount, currency, customer_email, phone, network },
      { idempotencyKey: id },
    );
    orders.charged(id, reference, Date.now());
  }

  /** A payment that is pending is no failure: waiting for it uses up no attempt. */
  async function lookLater(job: Job<OrderJob>, token?: string, retryAfter?: number): Promise<OrderState> {
    const { id, charged_at } = orders.get(job.data.orderId);
    const now = Date.now();
    const next = nextLook({ elapsed: now - (charged_at ?? now), retryAfter, random: Math.random() }, looks);
    if (!next || next.late) orders.release(id);
    if (!next) return orders.get(id).state;
    await job.moveToDelayed(now + next.delay, token);
    await heedHint(queue, job);
    throw new DelayedError();
  }

  /** Before a job fails for good, its order goes to where somebody sees it. */
  function settled({ id, reference, charged_at }: Order, error: unknown): unknown {
    const thrown = engineError(error, charged_at === null ? undefined : Date.now() - charged_at);
    if (thrown instanceof UnrecoverableError) {
      if (reference === null && isRefusal(error)) orders.refuse(id, thrown.message);
      else orders.park(id, thrown.message);
    }
    return thrown;
  }
}

const isOpen = ({ state }: Order) => state === 'placed' || state === 'waiting' || state === 'released';

/** Whether there is anything left to do for an order that is open. */
export function isLookedAt({ state, charged_at }: Order): boolean {
  return state !== 'released' || nextLook({ elapsed: Date.now() - (charged_at ?? 0) }, looks) !== null;
}
