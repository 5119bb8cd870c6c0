import {
  CallbackTimeoutError,
  type DurableContext,
  type StepConfig,
  StepSemantics,
  withDurableExecution,
} from '@aws/durable-execution-sdk-js';
import { orders } from './payments.ts';
import { charge, check, type Next, readJournal } from './steps.ts';

/** AWS neither retries the charge nor runs an interrupted one again. */
const chargePolicy: StepConfig<Next> = {
  semantics: StepSemantics.AtMostOncePerRetry,
  retryStrategy: () => ({ shouldRetry: false }),
};

/** Every other step has the same effect twice as once. It is retried until the execution times out. */
const stepPolicy: StepConfig<Next> = {
  retryStrategy: (_error, attempts) => ({
    shouldRetry: true,
    delay: { seconds: Math.min(attempts * 10, 600) },
  }),
};

/**
 * Runs one order, under the order's id as the name of the execution. For each invocation AWS runs this function from its
 * start, with the stored results of the steps that had ended. So it depends on those results only.
 */
export const handler = withDurableExecution(
  async ({ id }: { id: string }, context: DurableContext): Promise<void> => {
    let next: Next = { step: 'charge', delay: 0 };
    while (next.step !== 'end') {
      await waitFor(context, id, next);
      next = await runStep(context, id, next);
    }
  },
);

async function runStep(context: DurableContext, id: string, { step }: Next): Promise<Next> {
  if (step === 'check') return await context.step('check', () => check(id), stepPolicy);
  if (step === 'read the journal')
    return await context.step('read the journal', () => readJournal(id), stepPolicy);
  try {
    return await context.step('charge', () => charge(id), chargePolicy);
  } catch {
    // The invocation was interrupted, or the database cannot be reached. Only the journal knows whether a charge exists.
    return { step: 'read the journal', delay: 0 };
  }
}

/** Waits durably, and before a check also for a webhook. No function runs meanwhile. */
async function waitFor(context: DurableContext, id: string, { step, delay }: Next): Promise<void> {
  if (delay === 0) return;
  const seconds = Math.ceil(delay / 1_000);
  if (step !== 'check') {
    await context.wait(`wait for the ${step}`, { seconds });
    return;
  }
  try {
    await context.waitForCallback('wait', (callbackId) => orders.storeCallback(id, callbackId), {
      timeout: { seconds },
    });
  } catch (error) {
    // The callback could not be stored: wait without a webhook.
    if (!(error instanceof CallbackTimeoutError)) await context.wait('wait', { seconds });
  }
}
