import * as restate from '@restatedev/restate-sdk';
import { type CheckSchedule, nextCheck } from '../shop/check-schedule.ts';
import type { OrderState } from '../shop/orders.ts';
import { isRejection } from './engine-errors.ts';
import { type Charged, charge, checkPayment, orders } from './steps.ts';

/** One run for each order; its key is the order's id. */
export const orderWorkflow = restate.workflow({
  name: 'order',
  handlers: {
    /** The schedule is an argument: a setting might have another value at a replay. */
    async run(ctx: restate.WorkflowContext, schedule: CheckSchedule): Promise<OrderState> {
      try {
        // A prompt that comes much later would confuse the customer: after that the order needs a manual review.
        const charged = await ctx.run('charge', () => charge(ctx.key), { maxRetryDuration: { minutes: 10 } });
        return await checkUntilFinal(ctx, charged, schedule);
      } catch (error) {
        if (!(error instanceof restate.TerminalError)) throw error;
        const isRejected = isRejection(error);
        await ctx.run('close', () => orders[isRejected ? 'reject' : 'holdForReview'](ctx.key, error.message));
        return isRejected ? 'rejected' : 'in_review';
      }
    },

    /** A webhook arrived. Nothing in it is trusted: it only brings the next check forward. */
    async notify(ctx: restate.WorkflowSharedContext): Promise<void> {
      const notification = await ctx.get<string>('notification');
      if (notification !== null) ctx.resolveAwakeable(notification);
    },
  },
  options: {
    // By default an order would wait a minute after each crash, and be paused for good after 70 of them.
    retryPolicy: { initialInterval: 500, maxInterval: { seconds: 10 }, maxAttempts: 1_000_000 },
  },
});

export type OrderWorkflow = typeof orderWorkflow;

/** Checks until the payment is final. At the deadline it releases the goods, and the checks continue. */
async function checkUntilFinal(
  ctx: restate.WorkflowContext,
  charged: Charged,
  schedule: CheckSchedule,
): Promise<OrderState> {
  let notification = awaitNotification(ctx);
  let isReleased = false;
  let last: { at: number; retryAfter: number | undefined } = { at: charged.chargedAt, retryAfter: undefined };
  for (;;) {
    const elapsed = last.at - charged.chargedAt;
    const next = nextCheck({ elapsed, retryAfter: last.retryAfter, random: ctx.rand.random() }, schedule);
    if (!isReleased && next?.isAfterDeadline !== false) {
      await ctx.run('release', () => orders.release(ctx.key));
      isReleased = true;
    }
    if (!next) return 'released';

    const isNotified = await restate.RestatePromise.race([
      notification.map(() => true),
      ctx.sleep(next.delay).map(() => false),
    ]);
    // A promise that is resolved stays resolved, and would make the loop spin.
    if (isNotified) notification = awaitNotification(ctx);
    const result = await ctx.run('check', () => checkPayment(ctx.key, charged));
    if (result.state) return result.state;
    last = result;
  }
}

function awaitNotification(ctx: restate.WorkflowContext): restate.RestatePromise<void> {
  const { id, promise } = ctx.awakeable<void>();
  ctx.set('notification', id);
  return promise;
}
