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
import { type Looks, nextLook } from '../shop/looks.ts';
import type { OrderState } from '../shop/orders.ts';
import type { Activities, Charged } from './activities.ts';

// A worker that is killed is found out by `startToCloseTimeout` only: longer than a request and the journal's lease.
const { look, release, refuse, park } = proxyActivities<Activities>({
  startToCloseTimeout: '1 minute',
  retry: { maximumInterval: '15s' },
});

// A prompt that comes much later would only puzzle the customer: then it is left to a person. A charge that is under way
// is waited for, also where the workflow is cancelled.
const { charge } = proxyActivities<Activities>({
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: '10 minutes',
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
  retry: { maximumInterval: '15s' },
});

/** A webhook came in. It is not believed: it only brings the next look forward. */
export const hint = defineSignal('hint');

/** The looks are an argument: what is read from a setting may be another at a replay. */
export async function orderWorkflow(id: string, looks: Looks): Promise<OrderState> {
  try {
    return await settle(id, await charge(id), looks);
  } catch (error) {
    if (!(error instanceof TemporalFailure)) throw error;
    const why = rootCause(error) ?? error.message;
    const refused = isRefusal(error);
    // Also where the workflow is cancelled: nobody knows then whether the customer pays.
    await CancellationScope.nonCancellable(() => (refused ? refuse(id, why) : park(id, why)));
    return refused ? 'refused' : 'parked';
  }
}

/** Looks until the payment is final. Past the first deadline the goods are for sale again, and the looks go on. */
async function settle(id: string, charged: Charged, looks: Looks): Promise<OrderState> {
  let hinted = false;
  setHandler(hint, () => {
    hinted = true;
  });
  const began = Date.now();
  let released = false;
  let retryAfter: number | undefined;
  for (;;) {
    const elapsed = Date.now() - began;
    const next = nextLook({ elapsed, retryAfter, random: Math.random() }, looks);
    if (!released && next?.late !== false) {
      await release(id);
      released = true;
    }
    if (!next) return 'released';

    await condition(() => hinted, next.delay);
    hinted = false;
    const seen = await look(id, charged);
    if (seen.state) return seen.state;
    retryAfter = seen.retryAfter;
  }
}

/** Whether it is certain that no charge exists. A timeout or a cancellation proves nothing. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof ActivityFailure &&
    error.cause instanceof ApplicationFailure &&
    error.cause.type === 'Refused'
  );
}
