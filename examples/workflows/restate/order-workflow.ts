import * as restate from '@restatedev/restate-sdk';
import { type Looks, nextLook } from '../shop/looks.ts';
import type { OrderState } from '../shop/orders.ts';
import { isRefusal } from './engine-errors.ts';
import { type Charged, charge, look, orders } from './steps.ts';

/** One run for each order; its key is the order's id. */
export const orderWorkflow = restate.workflow({
  name: 'order',
  handlers: {
    /** The looks are an argument: what is read from a setting may be another at a replay. */
    async run(ctx: restate.WorkflowContext, looks: Looks): Promise<OrderState> {
      try {
        // A prompt that comes much later would only puzzle the customer: then it is left to a person.
        const charged = await ctx.run('charge', () => charge(ctx.key), { maxRetryDuration: { minutes: 10 } });
        return await settle(ctx, charged, looks);
      } catch (error) {
        if (!(error instanceof restate.TerminalError)) throw error;
        const refused = isRefusal(error);
        await ctx.run('close', () => orders[refused ? 'refuse' : 'park'](ctx.key, error.message));
        return refused ? 'refused' : 'parked';
      }
    },

    /** A webhook came in. It is not believed: it only brings the next look forward. */
    async hint(ctx: restate.WorkflowSharedContext): Promise<void> {
      const hint = await ctx.get<string>('hint');
      if (hint !== null) ctx.resolveAwakeable(hint);
    },
  },
  options: {
    // An order must neither wait for a minute after each crash, nor be paused for good after seventy of them.
    retryPolicy: { initialInterval: 500, maxInterval: { seconds: 10 }, maxAttempts: 1_000_000 },
  },
});

export type OrderWorkflow = typeof orderWorkflow;

/** Looks until the payment is final. Past the first deadline the goods are for sale again, and the looks go on. */
async function settle(ctx: restate.WorkflowContext, charged: Charged, looks: Looks): Promise<OrderState> {
  let hint = nextHint(ctx);
  let released = false;
  let last: { at: number; retryAfter: number | undefined } = { at: charged.chargedAt, retryAfter: undefined };
  for (;;) {
    const elapsed = last.at - charged.chargedAt;
    const next = nextLook({ elapsed, retryAfter: last.retryAfter, random: ctx.rand.random() }, looks);
    if (!released && next?.late !== false) {
      await ctx.run('release', () => orders.release(ctx.key));
      released = true;
    }
    if (!next) return 'released';

    const hinted = await restate.RestatePromise.race([
      hint.map(() => true),
      ctx.sleep(next.delay).map(() => false),
    ]);
    // A promise that was kept stays kept, and would make the loop spin.
    if (hinted) hint = nextHint(ctx);
    const seen = await ctx.run('look', () => look(ctx.key, charged));
    if (seen.state) return seen.state;
    last = seen;
  }
}

function nextHint(ctx: restate.WorkflowContext): restate.RestatePromise<void> {
  const { id, promise } = ctx.awakeable<void>();
  ctx.set('hint', id);
  return promise;
}
