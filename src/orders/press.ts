/** What happens when a customer presses "Pay": what is recorded of the order decides whether anything is sent. */

import * as z from 'zod/mini';
import type { CreateOperation } from '../api/operations.ts';
import {
  type AnyTransaction,
  AuthenticationError,
  ClosedError,
  ConfigurationError,
  InvalidInputError,
  isPaymentsError,
  JournalError,
} from '../errors.ts';
import { prepareCall } from '../http/call.ts';
import { checkReference, recordChecks } from '../idempotency/check.ts';
import {
  assertService,
  type CreateRequest,
  claimPayment,
  createAsk,
  type Decided,
  type KeyedCall,
  type Origin,
  resolveOrigin,
} from '../idempotency/claim.ts';
import { createKeyContext, type KeyContext } from '../idempotency/key-errors.ts';
import { type Claim, sendClaimed } from '../idempotency/send-claimed.ts';
import { waitForJournal } from '../journal/call-store.ts';
import { reportWarnings } from '../journal/core.ts';
import { namePayment } from '../journal/names.ts';
import type { Found } from '../journal/records.ts';
import { findShown, getState } from '../ledger/order.ts';
import { isSending } from '../ledger/payment.ts';
import { type Ask, askPrice, isAskedFor, press } from '../ledger/press.ts';
import type { LedgerRecord } from '../ledger/record.ts';
import type { UnkeyedOptions } from '../options.ts';
import { createOptionsSchema } from '../options.ts';
import { type OptionsShape, optionalFlag, parseOptions } from '../parse-options.ts';
import { createDigest } from '../support/digest.ts';
import { elapsedSince, readClocks, sleep, type Timestamp } from '../support/timing.ts';
import { stringField } from '../support/untrusted.ts';
import type { OrdersContext } from './options.ts';
import { decideStatus, type OrderStatus } from './status.ts';

/** The options of `charge` and `checkout`. Each of the others mirrors the client's option of that name. */
export interface OrderPressOptions extends UnkeyedOptions {
  /**
   * Whether a customer who asks for another number, network, method or amount gets another payment while one is under way.
   * A prompt cannot be withdrawn and a page cannot be closed, so the earlier one can still be paid: then it is `paid_twice`, or
   * `price_changed` if it has another amount.
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
interface OrderPress<Input, Request extends CreateRequest, Result> {
  readonly context: OrdersContext;
  readonly keyed: KeyedCall<Input, Request, Result>;
  readonly origin: Origin;
  readonly since: Timestamp;
  readonly startAnother: boolean;
}

/** Pays an order, if what is recorded of it allows that, and returns how far it is then. */
export async function pressOrder<Input, Request extends CreateRequest, Result extends AnyTransaction>(
  context: OrdersContext,
  id: string,
  operation: CreateOperation<Input, Request, Result>,
  input: Input,
  pressOptions: OrderPressOptions,
): Promise<OrderStatus> {
  const since = readClocks();
  const { access, records } = context;
  const { client } = access;
  const { startAnother = false, ...options } = parseOptions(pressOptionsSchema, pressOptions, {
    operation: operation.name,
  });
  const { signal, timeout = client.timeout } = options;
  // Before anything is waited for: the caller can change the input for the next order meanwhile.
  const call = readInput(() => prepareCall(client, operation, input, options));
  const origin = await resolveOrigin(access, { signal, timeout }, operation.name);
  reportWarnings(client.journal, client.report);
  const name = { kind: 'order', id } as const;
  if (call instanceof InvalidInputError || access.closing.aborted) {
    const error = call instanceof InvalidInputError ? call : new ClosedError(operation.name);
    const { record } = await waitForJournal(() => records.read(name), { end: signal });
    assertService(record, origin.service, operation.name);
    return addError(decideStatus(id, record, records.now), error, call instanceof InvalidInputError);
  }
  const { phone } = call.request;
  const keyed = {
    name,
    operation,
    call,
    phone: phone === undefined ? undefined : await digestPhone(id, phone),
  };
  return await decideAndPay({ context, keyed, origin, since, startAnother });
}

/** What a customer causes is no exception: the error is a part of the status. */
function readInput<T>(prepare: () => T): T | InvalidInputError {
  try {
    return prepare();
  } catch (error) {
    if (error instanceof InvalidInputError) return error;
    throw error;
  }
}

/** Why a call that tried to pay has started nothing is a part of the status. */
function addError(status: OrderStatus, error: unknown, differs: boolean): OrderStatus {
  const shown = isPaymentsError(error) ? { error } : {};
  if (status.state === 'unpaid') return { ...status, ...shown };
  if (status.state === 'processing') return { ...status, ...(differs && { differs }), ...shown };
  return status;
}

async function decideAndPay<Input, Request extends CreateRequest, Result extends AnyTransaction>(
  pressing: OrderPress<Input, Request, Result>,
): Promise<OrderStatus> {
  const { context, keyed, origin, since, startAnother } = pressing;
  const { access, records } = context;
  const { name, call } = keyed;
  const { signal } = call;
  const contextOf = (number: number) =>
    createKeyContext(namePayment(name, number), keyed, access.client.redactReference);
  const owner = { kind: name.kind, service: origin.service };
  let known: Found | undefined;
  for (;;) {
    const { ask, requestId } = await createAsk(access, keyed, contextOf(1).redactId);
    const facts = { name, owner, ask };
    const decided: Decided = await claimPayment(
      { access, records, since, startAnother, signal },
      facts,
      known,
    );
    const { decision, found } = decided;
    known = found;
    const status = () => decideStatus(name.id, found.record, records.now);
    switch (decision.do) {
      case 'paid':
      case 'in_review':
        return status();
      case 'join':
        return await join(pressing, ask, found, decision.number);
      case 'differ':
        return addDiffers(status());
      case 'limit':
        return addError(status(), limitError(), true);
      case 'check': {
        const checked = await checkPayments(pressing, ask, found, decision.references);
        if (!checked.found) return checked.status;
        known = checked.found;
        break;
      }
      case 'send':
        return await send(pressing, contextOf(decision.number), {
          facts,
          decided,
          origin,
          requestId,
          hasWaited: false,
        });
      default:
    }
  }
}

/** Sends the request of a claimed payment, and returns how far the order is then. */
async function send<Input, Request extends CreateRequest, Result extends AnyTransaction>(
  { context: { access, records }, keyed }: OrderPress<Input, Request, Result>,
  key: KeyContext,
  claim: Claim,
): Promise<OrderStatus> {
  const { signal } = keyed.call;
  const { record, isRecorded, result, error } = await sendClaimed(access, records, keyed, key, claim);
  const status = decideStatus(keyed.name.id, record, records.now);
  if (result !== undefined) return addPage(status, result);
  if (isThrown(error)) throw error;
  if (!isRecorded && isWithoutCharge(error)) throw signal?.aborted ? signal.reason : notRecordedError();
  return addError(status, error, !isAsked(record, claim.facts.ask, records.now));
}

/** An address that held a secret is not recorded, so only this press can return it. */
function addPage(status: OrderStatus, result: AnyTransaction): OrderStatus {
  const address = stringField(result, 'checkout_url');
  if (status.state !== 'processing' || address === undefined) return status;
  const { key } = status.payment;
  if (status.payment.reference !== result.reference) return status;
  const payment = { ...status.payment, checkout_url: address };
  return { ...status, payment, payments: status.payments.map((item) => (item.key === key ? payment : item)) };
}

const addDiffers = (status: OrderStatus): OrderStatus =>
  status.state === 'processing' ? { ...status, differs: true } : status;

/** Whether the payment under way is the one that was asked for. */
function isAsked(record: LedgerRecord | null, ask: Ask, now: number): boolean {
  const shown = record && findShown(record, now);
  return !!shown && isAskedFor(shown, ask);
}

/** A customer causes this one too, so it is not thrown. */
const limitError = () =>
  new ConfigurationError(
    'This order has 50 payments, the most that one can have. Nothing was sent. Look into it, and give it another id.',
  );

/**
 * Checks payments that might be paid, and records what was found with the price that the press asks for. `status`: one of them got
 * no answer, or the client was closed, so nothing begins.
 *
 * @throws {AuthenticationError} if the service refuses the API key: that is the merchant's to correct.
 */
async function checkPayments<Input, Request extends CreateRequest, Result>(
  { context, keyed: { name, operation, call }, origin }: OrderPress<Input, Request, Result>,
  ask: Ask,
  known: Found,
  references: readonly string[],
): Promise<{ found: Found } | { found: undefined; status: OrderStatus }> {
  const { access, records } = context;
  const { record } = known;
  const stop = call.signal ?? access.closing;
  const checking = references.flatMap((reference) => {
    const options = { reference, askedAt: records.now, signal: stop, sendUntil: stop };
    return record ? [checkReference(access, record, options)] : [];
  });
  // `undefined`: the client was closed meanwhile.
  const checks = await Promise.all(checking).catch((error: unknown) => {
    if (error instanceof ClosedError) return undefined;
    throw error;
  });
  const failed = checks
    ? checks.find(({ finding }) => finding.is === 'failed' || finding.is === 'temporary')
    : { error: new ClosedError(operation.name) };
  const owner = { kind: name.kind, service: origin.service };
  const recording = records.change(
    name,
    (before, now) => {
      const checked = recordChecks(before && askPrice(before, ask), checks ?? [], now);
      if (!failed || !checked || getState(checked, now) !== 'processing') return { record: checked };
      // Nothing begins: this tells only whether what is under way is what was asked for.
      const pressing = {
        ask,
        lease: records.lease,
        since: Number.NEGATIVE_INFINITY,
        now,
        startAnother: false,
      };
      const pressed = press(checked, owner, pressing);
      return pressed.decision.do === 'join' ? { record: pressed.record } : { record: checked };
    },
    { known },
  );
  // It goes on after an abort, and nobody waits for it then.
  recording.catch(() => {});
  const { found } = await waitForJournal(() => recording, { end: call.signal });
  if (!failed) return { found };
  const status = decideStatus(name.id, found.record, records.now);
  const isJoined = isAsked(found.record, ask, records.now);
  return {
    found: undefined,
    status: checks && isJoined ? status : addError(status, failed.error, !isJoined),
  };
}

/** Delays between two reads while another press sends, in milliseconds. */
const MIN_READ_DELAY = 25;
const MAX_READ_DELAY = 500;

/**
 * What was asked for is under way. If another press is just sending it, its result is waited for, so that both presses return it,
 * but not for longer than a request can take.
 */
async function join<Input, Request extends CreateRequest, Result>(
  { context, keyed: { name, call } }: OrderPress<Input, Request, Result>,
  ask: Ask,
  joined: Found,
  number: number,
): Promise<OrderStatus> {
  const { records, access } = context;
  const isBeingSent = ({ record }: Found) => {
    const payment = record?.payments[number - 1];
    return payment !== undefined && isSending(payment, records.now);
  };
  const startedAt = readClocks();
  let found = joined;
  for (let delay = MIN_READ_DELAY; isBeingSent(found); delay = Math.min(1.5 * delay, MAX_READ_DELAY)) {
    if (elapsedSince(startedAt) > access.client.timeout || access.closing.aborted) break;
    await sleep(delay, call.signal);
    found = await waitForJournal(() => records.read(name), { end: call.signal });
  }
  const status = decideStatus(name.id, found.record, records.now);
  return isAsked(found.record, ask, records.now) ? status : addDiffers(status);
}

/** Whether an error is the caller's own. What a customer or the service causes is a part of the status. */
function isThrown(error: unknown): boolean {
  const isOwn =
    error instanceof ConfigurationError ||
    error instanceof AuthenticationError ||
    error instanceof JournalError;
  return isOwn || !isPaymentsError(error);
}

const isWithoutCharge = (error: unknown) =>
  isPaymentsError(error) && (error.outcome === 'not_sent' || error.outcome === 'rejected');

/** The customer cannot pay until it is recorded. */
const notRecordedError = () =>
  new JournalError('No charge was made, and the journal did not respond in time to record that. Try again.', {
    retryable: true,
  });

/** So short that a thousand numbers of a country share it: it tells two numbers apart, and does not reveal one. */
const DIGEST_CHARS = 5;

/** The ways to write what comes before the nine digits of a Ghanaian number. */
const PREFIX = /^(?:(?:00)?233)?0?(?=\d{9}$)/;

/** Returns a digest that tells whether a customer gave another number, however it is written. The order is its salt. */
async function digestPhone(id: string, phone: string): Promise<string> {
  const number = phone.replace(/\P{Nd}/gu, '').replace(PREFIX, '');
  const digest = await createDigest('SHA-256', JSON.stringify([id, number]));
  return digest.slice(0, DIGEST_CHARS);
}
