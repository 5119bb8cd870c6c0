import * as z from 'zod/mini';
import {
  AuthenticationError,
  ClosedError,
  ConfigurationError,
  JournalError,
  NotFoundError,
  TransactionMismatchError,
  WaitTimeoutError,
} from '../errors.ts';
import { type Checked, recordChecks, toChecked, toFailedCheck } from '../idempotency/check.ts';
import { assertService, resolveOrigin } from '../idempotency/claim.ts';
import { getLateResult, type JournalWait, waitForJournal } from '../journal/call-store.ts';
import type { AttentionQuery } from '../journal/journal.ts';
import { listNeeding } from '../journal/list.ts';
import type { Found } from '../journal/records.ts';
import { type OptionsShape, optionalNumber, optionalSignal, parseOptions } from '../parse-options.ts';
import { elapsedSince, linkSignals, readClocks, sleep } from '../support/timing.ts';
import type { OrdersContext } from './options.ts';
import { decideStatus, type OrderInReview, type OrderStatus } from './status.ts';

/** The options of `read`. */
export interface OrderReadOptions {
  /** Ends the call. It rejects with the signal's reason. @default none */
  signal?: AbortSignal | undefined;
}

/** The options of `wait`. */
export interface OrderWaitOptions extends OrderReadOptions {
  /** How long to wait at most, in milliseconds. @default the `timeout` of the client's `polling`: 10 minutes */
  timeout?: number | undefined;
}

const orderReadOptionsSchema = /* @__PURE__ */ (() =>
  z.strictObject({ signal: optionalSignal } satisfies OptionsShape<OrderReadOptions>))();

/** Returns how far an order is, from the journal alone. */
export async function readStatus(
  context: OrdersContext,
  id: string,
  options: OrderReadOptions,
): Promise<OrderStatus> {
  const { access, records } = context;
  const { signal } = parseOptions(orderReadOptionsSchema, options, { operation: 'verify' });
  const { service } = await resolveOrigin(access, { signal, timeout: access.client.timeout });
  const { record } = await readOrder(context, id, service, { end: signal });
  return decideStatus(id, record, records.now);
}

/** Yields the orders in review, oldest first. One of another service is for a client of that service to decide. */
export async function* listOrdersInReview(
  { access, records }: OrdersContext,
  query: AttentionQuery,
): AsyncGenerator<OrderInReview, void, void> {
  const { service } = await resolveOrigin(access, { signal: undefined, timeout: access.client.timeout });
  yield* listNeeding(records, query, 'listInReview', (name, record) => {
    if (name.kind !== 'order' || record.service !== service) return [];
    const status = decideStatus(name.id, record, records.now);
    return status.state === 'in_review' ? [status] : [];
  });
}

/** @throws {ConfigurationError} if the order belongs to another service or mode. */
async function readOrder(
  { records }: OrdersContext,
  id: string,
  service: string,
  limits: JournalWait,
): Promise<Found> {
  const found = await waitForJournal(() => records.read({ kind: 'order', id }), limits);
  assertService(found.record, service);
  return found;
}

const orderWaitOptionsSchema = /* @__PURE__ */ (() =>
  z.strictObject({
    timeout: optionalNumber((timeout) => timeout >= 0, 'timeout must be milliseconds, 0 or more.'),
    signal: optionalSignal,
  } satisfies OptionsShape<OrderWaitOptions>))();

/** What other processes record is looked for this often, in milliseconds. */
const READ_INTERVAL = 2_000;

/** A read or write that begins at the end of a wait gets so long all the same, in milliseconds. */
const MIN_JOURNAL_TIMEOUT = 1_000;

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
  const { access, records } = context;
  const { timeout = access.client.polling.rules.timeout, signal: own } = parseOptions(
    orderWaitOptionsSchema,
    options,
    {
      operation: 'verify',
    },
  );
  const startedAt = readClocks();
  const getLeft = () => Math.max(0, timeout - elapsedSince(startedAt));
  const { signal, release } = linkSignals(own, access.closing, () => new ClosedError('verify'));
  const getLimits = () => ({ timeout: Math.max(MIN_JOURNAL_TIMEOUT, getLeft()), end: signal });
  let status: OrderStatus | undefined;
  try {
    const { service } = await resolveOrigin(access, { signal, timeout: access.client.timeout });
    for (;;) {
      const found = await readOrder(context, id, service, getLimits());
      status = decideStatus(id, found.record, records.now);
      if (status.state !== 'processing' || getLeft() === 0) return status;
      const { number, reference } = status.payment;
      const awaited = { id, service, number, getLeft, getLimits, signal };
      if (reference === undefined) await sleep(Math.min(CLAIM_READ_INTERVAL, getLeft()), signal);
      else await waitForNews(context, found, { ...awaited, reference });
    }
  } catch (error) {
    if (status && error instanceof JournalError && getLeft() === 0) return status;
    throw error;
  } finally {
    release();
  }
}

interface AwaitedPayment {
  id: string;
  service: string;
  reference: string;
  number: number;
  getLeft: () => number;
  getLimits: () => JournalWait;
  signal: AbortSignal;
}

/** Waits until the payment is final, until another process has recorded something, or for the time that is left. */
async function waitForNews(context: OrdersContext, known: Found, awaited: AwaitedPayment): Promise<void> {
  const { id, reference, number, getLeft, getLimits, signal } = awaited;
  const { access, records } = context;
  const payment = known.record?.payments[number - 1];
  if (!payment) return;
  const { amount, currency, createdAt } = payment;
  const expect = { amount, currency };
  const news = new AbortController();
  const either = linkSignals(signal, news.signal, () => news.signal.reason);
  readUntilChanged(context, awaited, either.signal).then(
    () => news.abort(NEWS),
    (error: unknown) => news.abort(error),
  );
  const record = (checked: Checked) =>
    waitForJournal(
      () =>
        records.change({ kind: 'order', id }, (before, now) => ({
          record: recordChecks(before, [checked], now),
        })),
      getLimits(),
    );
  try {
    // Of the clock of this process, as a wait counts.
    const startedAt = Date.now() - Math.max(0, records.now - createdAt);
    const { transaction, age } = await access.waitForFinal(reference, {
      expect,
      startedAt,
      timeout: Date.now() - startedAt + getLeft(),
      signal: either.signal,
    });
    const asked = { reference, expect, askedAt: records.now - age };
    const checked = toChecked(asked, { transaction, retryAfter: undefined });
    const { found } = await record(checked);
    // Of a payment that is being sent, a check is recorded once the service has answered. And what ended this client's wait need
    // not end the payment.
    if (isUnderWay(decideStatus(id, found.record, records.now), number))
      await sleep(Math.min(ERROR_PAUSE, getLeft()), signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error === NEWS || error instanceof WaitTimeoutError) return;
    const isOwn = CALLERS_OWN.some((kind) => error instanceof kind);
    if (isOwn || getLateResult(error)) throw error;
    const isAboutPayment = error instanceof TransactionMismatchError || error instanceof NotFoundError;
    // It might have been asked as long ago as that.
    const askedAt = records.now - access.client.timeout;
    if (isAboutPayment) await record(toFailedCheck({ reference, expect, askedAt }, error));
    await sleep(Math.min(ERROR_PAUSE, getLeft()), signal);
  } finally {
    news.abort(NEWS);
    either.release();
  }
}

const isUnderWay = (status: OrderStatus, number: number) =>
  status.state === 'processing' && status.payment.number === number;

const CALLERS_OWN = [AuthenticationError, ClosedError, ConfigurationError];

/** Resolves once another payment is under way, or none. It rejects if the journal hangs, or with the reason of `signal`. */
async function readUntilChanged(
  context: OrdersContext,
  { id, service, number }: AwaitedPayment,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await sleep(READ_INTERVAL, signal);
    const found = await readOrder(context, id, service, { end: signal }).catch((error: unknown) => {
      if (getLateResult(error)) throw error;
      // A journal that fails is read again.
      return undefined;
    });
    const status = found && decideStatus(id, found.record, context.records.now);
    if (status && !isUnderWay(status, number)) return;
  }
}

const NEWS = new Error('The order has changed.');
