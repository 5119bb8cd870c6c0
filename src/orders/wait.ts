import * as z from 'zod/mini';
import {
  AuthenticationError,
  ClosedError,
  ConfigurationError,
  NotFoundError,
  TransactionMismatchError,
  WaitTimeoutError,
} from '../errors.ts';
import { type OptionsShape, optionalNumber, optionalSignal, parseOptions } from '../parse-options.ts';
import { elapsedSince, linkSignals, readClocks, sleep } from '../timing.ts';
import { recordCheck } from './check.ts';
import type { OrdersContext } from './options.ts';
import type { Order } from './order.ts';
import { readSettledOrder } from './settle.ts';
import { decideStatus, type OrderStatus } from './status.ts';

/** The options of `wait`. */
export interface OrderWaitOptions {
  /** How long to wait at most, in milliseconds. @default the `timeout` of the client's `polling`: 10 minutes */
  timeout?: number | undefined;
  /** Ends the wait. It rejects with the signal's reason. @default none */
  signal?: AbortSignal | undefined;
}

const orderWaitOptionsSchema = /* @__PURE__ */ (() =>
  z.strictObject({
    timeout: optionalNumber((timeout) => timeout >= 0, 'timeout must be milliseconds, 0 or more.'),
    signal: optionalSignal,
  } satisfies OptionsShape<OrderWaitOptions>))();

/** What other processes record is looked for this often, in milliseconds. */
const READ_INTERVAL = 2_000;

/** Until the service has named the transaction, the journal is read this often, in milliseconds. */
const CLAIM_READ_INTERVAL = 250;

/** After an error that a later check might not have, in milliseconds. */
const ERROR_PAUSE = 5_000;

/** Waits until nothing is under way for an order, or until the timeout, and returns how far it is then. */
export async function waitForOrder(
  context: OrdersContext,
  id: string,
  options: OrderWaitOptions,
): Promise<OrderStatus> {
  const { timeout = context.access.rules.timeout, signal: own } = parseOptions(
    orderWaitOptionsSchema,
    options,
    {
      operation: 'verify',
    },
  );
  const startedAt = readClocks();
  const getLeft = () => timeout - elapsedSince(startedAt);
  const { signal, release } = linkSignals(own, context.access.closing, () => new ClosedError('verify'));
  try {
    for (;;) {
      signal.throwIfAborted();
      const order = await readSettledOrder(context.records, id);
      const status = decideStatus(order);
      if (status.state !== 'processing' || getLeft() <= 0) return status;
      const { reference } = status.payment;
      if (reference === undefined) await sleep(Math.min(CLAIM_READ_INTERVAL, Math.max(0, getLeft())), signal);
      else
        await waitForNews(context, order, {
          reference,
          number: status.payment.number,
          left: getLeft(),
          signal,
        });
    }
  } finally {
    release();
  }
}

interface AwaitedPayment {
  reference: string;
  number: number;
  left: number;
  signal: AbortSignal;
}

/** Waits until the payment is final, until another process has recorded something, or for the time that is left. */
async function waitForNews(
  context: OrdersContext,
  order: Order,
  { reference, number, left, signal }: AwaitedPayment,
): Promise<void> {
  const payment = order.payments.find((item) => item.number === number);
  if (!payment) return;
  const { amount, currency, createdAt } = payment.record;
  const news = new AbortController();
  const either = linkSignals(signal, news.signal, () => NEWS);
  const reader = setInterval(async () => {
    // A journal that fails is read again by the wait itself.
    const current = await readSettledOrder(context.records, order.id).catch(() => undefined);
    const status = current && decideStatus(current);
    if (status && !(status.state === 'processing' && status.payment.number === number)) news.abort();
  }, READ_INTERVAL);
  try {
    const startedAt = Math.min(createdAt, Date.now());
    const transaction = await context.payments.waitForFinalStatus(reference, {
      expect: { amount, currency },
      startedAt,
      timeout: Date.now() - startedAt + left,
      signal: either.signal,
    });
    await recordCheck(context, order.id, payment, { checked: { transaction, retryAfter: undefined } });
  } catch (error) {
    signal.throwIfAborted();
    if (error === NEWS || error instanceof WaitTimeoutError) return;
    if (CALLERS_OWN.some((kind) => error instanceof kind)) throw error;
    const isAboutPayment = error instanceof TransactionMismatchError || error instanceof NotFoundError;
    if (isAboutPayment) await recordCheck(context, order.id, payment, { error });
    await sleep(Math.min(ERROR_PAUSE, left), signal);
  } finally {
    clearInterval(reader);
    either.release();
  }
}

const CALLERS_OWN = [AuthenticationError, ClosedError, ConfigurationError];

const NEWS = new Error('The order has changed.');
