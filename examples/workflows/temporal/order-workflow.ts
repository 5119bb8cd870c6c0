import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  defineSignal,
  proxyActivities,
  rootCause,
  setHandler,
  TemporalFailure,
} from '@temporalio/workflow';
import { type CheckSchedule, nextCheck } from '../shop/check-schedule.ts';
import type { OrderState } from '../shop/order.ts';
import type { Activities, Charged } from './activities.ts';

// Only `startToCloseTimeout` detects a killed worker. It is longer than a request and the journal's lease together.
const { checkPayment, release, reject, holdForReview } = proxyActivities<Activities>({
  startToCloseTimeout: '1 minute',
  retry: { maximumInterval: '15s' },
});

// A prompt that comes much later would confuse the customer: after that the order needs a manual review. A running charge
// is awaited even if the workflow is cancelled.
const { charge } = proxyActivities<Activities>({
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: '10 minutes',
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  retry: { maximumInterval: '15s' },
});

/** A webhook arrived. Nothing in it is trusted: it only brings the next check forward. */
export const notification = defineSignal('notification');

/** The schedule is an argument: a setting might have another value at a replay. */
export async function orderWorkflow(id: string, schedule: CheckSchedule): Promise<OrderState> {
  try {
    return await checkUntilFinal(id, await charge(id), schedule);
  } catch (error) {
    if (!(error instanceof TemporalFailure)) throw error;
    const reason = rootCause(error) ?? error.message;
    const isRejected = isRejection(error);
    // Also after a cancellation: it is then not known whether the customer pays.
    await CancellationScope.nonCancellable(() =>
      isRejected ? reject(id, reason) : holdForReview(id, reason),
    );
    return isRejected ? 'rejected' : 'in_review';
  }
}

/** Checks until the payment is final. At the deadline it releases the goods, and the checks continue. */
async function checkUntilFinal(id: string, charged: Charged, schedule: CheckSchedule): Promise<OrderState> {
  let isNotified = false;
  setHandler(notification, () => {
    isNotified = true;
  });
  const startedAt = Date.now();
  let isReleased = false;
  let retryAfter: number | undefined;
  for (;;) {
    const elapsed = Date.now() - startedAt;
    const next = nextCheck({ elapsed, retryAfter, random: Math.random() }, schedule);
    if (!isReleased && next?.isAfterDeadline !== false) {
      await release(id);
      isReleased = true;
    }
    if (!next) return 'released';

    await condition(() => isNotified, next.delay);
    isNotified = false;
    const result = await checkPayment(id, charged);
    if (result.state) return result.state;
    retryAfter = result.retryAfter;
  }
}

/** Whether it is proven that no charge exists. A timeout or a cancellation proves nothing. */
function isRejection(error: unknown): boolean {
  return (
    error instanceof ActivityFailure &&
    error.cause instanceof ApplicationFailure &&
    error.cause.type === 'Rejected'
  );
}
