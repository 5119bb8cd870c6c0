import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from 'cloudflare:workers';
import { type CheckResult, PaymentsError } from 'payment-collection-client';
import { type CheckSchedule, defaultCheckSchedule, nextCheck } from '../shop/check-schedule.ts';
import {
  chargePolicy,
  isPause,
  isRejection,
  isTemporary,
  readRetryAfter,
  stepPolicy,
  throwForCloudflare,
} from './engine-errors.ts';
import type { Env } from './env.ts';
import { type Order, type OrderState, Orders } from './orders.ts';
import { createPayments } from './payments.ts';

/** The type of the event that a webhook sends. Nothing in it is trusted: it only brings the next check forward. */
export const NOTIFICATION = 'payment-notification';

/**
 * Runs one order. The order's id is the id of the instance. After a crash Cloudflare runs this function again, with the
 * stored results of the steps that had ended. So it depends on those results only: the delay in milliseconds until the
 * next check, or `null` at the end.
 */
export class OrderWorkflow extends WorkflowEntrypoint<Env> {
  readonly #orders = new Orders(this.env.DB);
  readonly #payments = createPayments(this.env);

  override async run(
    { instanceId: id }: Readonly<WorkflowEvent<unknown>>,
    step: WorkflowStep,
  ): Promise<OrderState> {
    let delay: number | null;
    try {
      delay = await step.do('charge', chargePolicy, () => this.#charge(id));
    } catch (error) {
      if (isPause(error)) throw error;
      // It is not proven that no charge exists. Also after the last of the attempts: another call might have charged.
      const reason = error instanceof Error ? error.message : 'the charge failed';
      await step.do('hold for review', stepPolicy, () => this.#orders.holdForReview(id, reason));
      return 'in_review';
    }
    for (let checks = 1; delay !== null; checks++) {
      await waitForNotification(step, `wait ${checks}`, delay);
      delay = await step.do(`check ${checks}`, stepPolicy, () => this.#check(id));
    }
    return await step.do('read the state', stepPolicy, async () => (await this.#orders.get(id)).state);
  }

  /** Cloudflare might run a step again after a crash. With the journal the customer is still charged at most once. */
  async #charge(id: string): Promise<number | null> {
    const { amount, currency, customer_email, phone, network } = await this.#orders.get(id);
    try {
      const { reference } = await this.#payments.chargeMobileMoney(
        { amount, currency, customer_email, phone, network },
        { idempotencyKey: id },
      );
      await this.#orders.markCharged(id, reference, Date.now());
    } catch (error) {
      if (!isRejection(error)) throwForCloudflare(error);
      await this.#orders.reject(id, error instanceof PaymentsError ? error.message : '');
      return null;
    }
    return this.#findFirstCheckDelay(await this.#orders.get(id));
  }

  /** Checks the payment once and changes the order. A pending payment gives a delay, never an error. */
  async #check(id: string): Promise<number | null> {
    const order = await this.#orders.get(id);
    if (order.reference === null || order.charged_at === null) return null;
    let check: CheckResult;
    try {
      check = await this.#payments.check(order.reference);
    } catch (error) {
      // The next check is the retry. So an outage of any length neither ends the wait nor moves its deadline.
      if (isTemporary(error, Date.now() - order.charged_at))
        return this.#releaseOrDelay(order, readRetryAfter(error));
      await this.#orders.holdForReview(id, error instanceof PaymentsError ? error.message : '');
      return null;
    }
    if (!check.final) return this.#releaseOrDelay(order, check.retryAfter);
    await this.#orders.applyFinalStatus(order, check.transaction);
    return null;
  }

  /** Returns 0 if the deadline has passed: after a crash the step can run again long after the charge. */
  #findFirstCheckDelay(order: Order): number {
    const next = this.#findNextCheck(order);
    return next === null || next.isAfterDeadline ? 0 : next.delay;
  }

  /** At the deadline it releases the goods. The checks continue, because an approval might still come. */
  async #releaseOrDelay(order: Order, retryAfter?: number): Promise<number | null> {
    const next = this.#findNextCheck(order, retryAfter);
    if (next === null || next.isAfterDeadline) await this.#orders.release(order.id);
    return next?.delay ?? null;
  }

  #findNextCheck({ charged_at }: Order, retryAfter?: number): ReturnType<typeof nextCheck> {
    const elapsed = Date.now() - (charged_at ?? 0);
    const schedule: CheckSchedule = {
      ...defaultCheckSchedule,
      ...JSON.parse(this.env.CHECK_SCHEDULE ?? '{}'),
    };
    return nextCheck({ elapsed, retryAfter, random: Math.random() }, schedule);
  }
}

/** Waits durably until the next check, or until a webhook arrives. For Cloudflare, the end of the time is an error. */
async function waitForNotification(step: WorkflowStep, name: string, delay: number): Promise<void> {
  // A timeout of 0 would be the default: 24 hours.
  const timeout = Math.max(delay, 1_000);
  await step.waitForEvent(name, { type: NOTIFICATION, timeout }).catch((error: unknown) => {
    if (isPause(error)) throw error;
  });
}
