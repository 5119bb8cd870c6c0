/** What happens when a customer presses "Pay": what is recorded of the order decides whether anything is sent. */

import * as z from 'zod/mini';
import { type CreateOperation, DEFAULT_CURRENCY } from '../api/operations.ts';
import type { PaymentOptions } from '../client-access.ts';
import { createDigest } from '../digest.ts';
import {
  type AnyTransaction,
  AuthenticationError,
  ConfigurationError,
  InvalidInputError,
  isPaymentsError,
  JournalError,
} from '../errors.ts';
import { validateInput } from '../http/call.ts';
import type { CreateRequest } from '../idempotency/fingerprint.ts';
import { waitForJournal } from '../journal/call-store.ts';
import { type Records, retryCas } from '../journal/compare-and-swap.ts';
import { readOrderRecord, writeOrderRecord } from '../journal/order-record.ts';
import { paymentKey } from '../journal/record.ts';
import { isNoJournalError } from '../journal/store.ts';
import { createOptionsSchema } from '../normalize-options.ts';
import type { UnkeyedOptions } from '../options.ts';
import { type OptionsShape, optionalFlag, parseOptions } from '../parse-options.ts';
import { elapsedSince, readClocks, sleep } from '../timing.ts';
import { checkEarlierPayments, mightBePaid, type PressChecks } from './check.ts';
import type { OrdersContext } from './options.ts';
import {
  createOrder,
  MAX_PAYMENTS,
  notAnOrderPaymentError,
  type Order,
  type OrderedPayment,
} from './order.ts';
import { readSettledOrder } from './settle.ts';
import {
  decideStatus,
  getPhase,
  type OrderStatus,
  type ProcessingOrder,
  type UnpaidOrder,
} from './status.ts';

/** The options of `charge` and `checkout`. Each of the others mirrors the client's option of that name. */
export interface OrderPressOptions extends UnkeyedOptions {
  /**
   * Whether a customer who asks for another number, network, method or amount gets another payment while one is under way.
   * A prompt cannot be withdrawn and a page cannot be closed, so the earlier one can still be paid: then it is `paid_twice`.
   *
   * @default false
   */
  startAnother?: boolean | undefined;
}

const { idempotencyKey: _, ...createShape } = createOptionsSchema.shape;
const pressOptionsSchema = /* @__PURE__ */ (() =>
  z.strictObject({
    ...createShape,
    startAnother: optionalFlag('startAnother'),
  } satisfies OptionsShape<OrderPressOptions>))();

/** One press, as its steps share it. */
interface Press {
  readonly context: OrdersContext;
  readonly id: string;
  /** Sends the request of this press at most once for its key. */
  readonly create: (options: PaymentOptions) => Promise<{ readonly result?: AnyTransaction | undefined }>;
  /** `undefined` if the input is not valid. */
  readonly asked: AskedPayment | undefined;
  readonly invalid: InvalidInputError | undefined;
  readonly options: UnkeyedOptions;
  readonly startAnother: boolean;
  readonly checked: PressChecks;
}

/** What a press asks for, as it is compared with a payment under way. */
interface AskedPayment {
  readonly operation: string;
  readonly amount: string;
  readonly currency: string;
  readonly network: string | undefined;
  /** A digest of the number. */
  readonly phone: string | undefined;
}

/** Pays an order, if what is recorded of it allows that, and returns how far it is then. */
export async function pressPay<Input, Request extends CreateRequest, Result extends AnyTransaction>(
  context: OrdersContext,
  id: string,
  operation: CreateOperation<Input, Request, Result>,
  input: Input,
  pressOptions: OrderPressOptions,
): Promise<OrderStatus> {
  const { startAnother = false, ...options } = parseOptions(pressOptionsSchema, pressOptions, {
    operation: operation.name,
  });
  const create = (given: PaymentOptions) => context.access.createPayment(operation, input, given);
  const read = await readInput(id, operation, input, context.access.maxAmount);
  const press = { context, id, create, ...read, options, startAnother, checked: new Map() };
  return await retryCas(() => tryToPay(press));
}

/** Returns `undefined` if the order changed meanwhile: what to do is decided anew then. */
async function tryToPay(press: Press): Promise<OrderStatus | undefined> {
  const { context, id, invalid, options } = press;
  const order = await readSettledOrder(context.records, id, { end: options.signal }).catch(
    (error: unknown) => {
      // The claim of the first payment makes the tables.
      if (isNoJournalError(error)) return createOrder(id);
      throw error;
    },
  );
  const status = decideStatus(order);
  switch (status.state) {
    case 'paid':
    case 'in_review':
      return status;
    case 'processing':
      return await pressAgain(press, order, status);
    case 'unpaid':
      return invalid ? { ...status, error: invalid } : await payNext(press, order, status);
  }
}

/** A payment is under way. The customer might just have declined it, so it is checked first. */
async function pressAgain(
  press: Press,
  order: Order,
  status: ProcessingOrder,
): Promise<OrderStatus | undefined> {
  const { context, asked, options, startAnother, checked } = press;
  const latest = order.payments.find(({ number }) => number === status.payment.number);
  if (latest && !checked.has(latest.number) && mightBePaid(latest)) {
    const check = { except: 0, checked, signal: options.signal };
    await checkEarlierPayments(context, { ...order, payments: [latest] }, check);
    return undefined;
  }
  const isAnother = asked && startAnother && latest && isOther(latest, asked);
  return isAnother ? await payNext(press, order, status) : await joinPayment(press, order, status);
}

/** Nothing is sent: tells whether the payment under way is the one that was asked for. */
async function joinPayment(press: Press, order: Order, status: ProcessingOrder): Promise<OrderStatus> {
  const { asked } = press;
  const payment = order.payments.find(({ number }) => number === status.payment.number);
  if (!asked || !payment || isOther(payment, asked)) return { ...status, differs: true };
  return isOpening(payment) ? await readOnceOpened(press, payment.number) : status;
}

const isOpening = ({ record, isInProgress }: OrderedPayment) =>
  record.operation === 'initialize' && isInProgress;

/** Delays between two reads while another press opens a page, in milliseconds. */
const MIN_READ_DELAY = 25;
const MAX_READ_DELAY = 500;

/**
 * Reads an order once the page that another press is opening is known, so that both presses return its address. Nothing is
 * sent. After the timeout of a request, it returns how far the order is then.
 */
async function readOnceOpened({ context, id, options }: Press, number: number): Promise<OrderStatus> {
  const { records, access } = context;
  const startedAt = readClocks();
  for (let delay = MIN_READ_DELAY; ; delay = Math.min(1.5 * delay, MAX_READ_DELAY)) {
    await sleep(delay, options.signal);
    const order = await readSettledOrder(records, id, { end: options.signal });
    const payment = order.payments.find((item) => item.number === number);
    const isOver = elapsedSince(startedAt) > access.timeout || access.closing.aborted;
    if (isOver || !payment || !isOpening(payment)) return decideStatus(order);
  }
}

/** Begins the next payment of an order, or its latest one again, unless an earlier one is paid. */
async function payNext(
  press: Press,
  order: Order,
  status: UnpaidOrder | ProcessingOrder,
): Promise<OrderStatus | undefined> {
  const { context, options, checked } = press;
  const latest = order.payments.find(({ number }) => number === order.record.latest);
  const canReuse = !latest || getPhase(latest) === 'reusable';
  const number = canReuse ? order.record.latest : order.record.latest + 1;
  const check = { except: number, checked, signal: options.signal };
  const { isPaid, error = findLimitError(number) } = await checkEarlierPayments(context, order, check);
  if (isPaid) return undefined;
  if (error !== undefined) {
    if (status.state === 'processing') return { ...status, differs: true };
    return isPaymentsError(error) ? { ...status, error } : status;
  }
  if (!canReuse || order.record.pruning) {
    const record = () => recordNext(context, order, number);
    if (!(await waitForJournal(record, { end: options.signal }))) return undefined;
  }
  return await startPayment(press, order, number);
}

/** Records which payment of an order comes next, and what it supersedes; `false` if the order changed meanwhile. */
async function recordNext({ records }: OrdersContext, order: Order, number: number): Promise<boolean> {
  const { pruning, ...record } = order.record;
  const latest = order.payments.find((payment) => payment.number === record.latest);
  const isUnderWay = latest !== undefined && getPhase(latest) === 'processing';
  const superseded = isUnderWay ? [...record.superseded, latest.number] : record.superseded;
  // The payment that paid the order was pruned: it counts as new.
  const paidBy = pruning ? undefined : record.paidBy;
  const next = { ...record, latest: number, superseded, paidBy };
  return (await writeOrderRecord(records.store, order, next)) !== null;
}

/** A customer causes this one too, so it is not thrown. */
function findLimitError(number: number): ConfigurationError | undefined {
  if (number <= MAX_PAYMENTS) return undefined;
  return new ConfigurationError(
    `This order has ${MAX_PAYMENTS} payments, the most that one can have. Nothing was sent. Look into it, and give it another id.`,
  );
}

/** Why a claimed payment is not sent after all. */
class StandDown {
  readonly why: 'changed' | 'tried';

  constructor(why: 'changed' | 'tried') {
    this.why = why;
  }
}

async function startPayment(press: Press, order: Order, number: number): Promise<OrderStatus | undefined> {
  const { context, id, create, asked, options } = press;
  const { records } = context;
  const key = paymentKey(id, number);
  const attempts = order.payments.find((payment) => payment.number === number)?.record.attempts ?? 0;
  const phone = asked?.phone;
  let error: unknown;
  try {
    const { result } = await create({
      ...options,
      idempotencyKey: key,
      order: { id, number, ...(phone === undefined ? {} : { phone }) },
      confirm(claimedAttempts) {
        const isTried = claimedAttempts > attempts + 1;
        const confirm = () => confirmPayment(records, order, { number, isTried });
        return waitForJournal(confirm, { end: options.signal });
      },
    });
    if (result === undefined) throw notAnOrderPaymentError(key);
  } catch (thrown) {
    if (thrown instanceof StandDown && thrown.why === 'changed') return undefined;
    if (isThrown(thrown)) throw thrown;
    error = thrown;
  }
  // After a request, an abort would leave it open whether a payment is under way.
  const isUnsent = isPaymentsError(error) && error.outcome === 'not_sent';
  const limits = isUnsent ? { end: options.signal } : {};
  const now = await readSettledOrder(records, id, limits).catch((cause: unknown) => {
    throw cause instanceof JournalError && !isUnsent ? failedAfterRequestError(cause) : cause;
  });
  const status = decideStatus(now);
  if (status.state === 'unpaid' && isPaymentsError(error)) return { ...status, error };
  return status.state === 'processing' ? await joinPayment(press, now, status) : status;
}

/**
 * Runs after the claim, and before anything is sent: another press might have gone on meanwhile, or `prune` might have begun
 * before it could see the claim.
 *
 * @throws {StandDown} if it has. A payment that was refused is not sent again by a press that waited for it (`isTried`).
 */
async function confirmPayment(
  { store }: Records,
  { id, record: { priceChanged } }: Order,
  { number, isTried }: { number: number; isTried: boolean },
): Promise<void> {
  const { record } = await readOrderRecord(store, id);
  const isPaid = record.paidBy !== undefined || record.priceChanged.length > priceChanged.length;
  if (isPaid || record.pruning || record.latest !== number) throw new StandDown('changed');
  if (isTried) throw new StandDown('tried');
}

/** The error of the read says that nothing was sent, and is right about itself alone. */
const failedAfterRequestError = (cause: JournalError) =>
  new JournalError(
    'The journal failed after the request: a payment might be under way. Read the order, or press again: it is not charged twice.',
    { outcome: 'unknown', cause },
  );

/** Whether an error is the caller's own. What a customer or the service causes is a part of the status. */
function isThrown(error: unknown): boolean {
  if (error instanceof StandDown) return false;
  const isOwn =
    error instanceof ConfigurationError ||
    error instanceof AuthenticationError ||
    error instanceof JournalError;
  return isOwn || !isPaymentsError(error);
}

function isOther({ record }: OrderedPayment, asked: AskedPayment): boolean {
  const { operation, amount, currency, network, order } = record;
  return (
    operation !== asked.operation ||
    amount !== asked.amount ||
    currency !== asked.currency ||
    network !== asked.network ||
    order?.phone !== asked.phone
  );
}

/** What a customer causes is no exception: the error is a part of the status. */
async function readInput<Input, Request extends CreateRequest, Result extends AnyTransaction>(
  id: string,
  operation: CreateOperation<Input, Request, Result>,
  input: Input,
  maxAmount: number,
): Promise<{ asked: AskedPayment | undefined; invalid: InvalidInputError | undefined }> {
  try {
    const {
      amount,
      currency = DEFAULT_CURRENCY,
      network,
      phone,
    } = validateInput(operation, input, maxAmount);
    const digest = phone === undefined ? undefined : await digestPhone(id, phone);
    const asked = { operation: operation.name, amount: amount.toFixed(2), currency, network, phone: digest };
    return { asked, invalid: undefined };
  } catch (error) {
    if (error instanceof InvalidInputError) return { asked: undefined, invalid: error };
    throw error;
  }
}

/** So short that a thousand numbers of a country share it: it tells two numbers apart, and does not reveal one. */
const DIGEST_CHARS = 5;

/** Returns a digest that tells whether a customer gave another number. The order is its salt. */
async function digestPhone(id: string, phone: string): Promise<string> {
  const digest = await createDigest('SHA-256', JSON.stringify([id, phone.replace(/\P{Nd}/gu, '')]));
  return digest.slice(0, DIGEST_CHARS);
}
