import { reconcileItemSchema } from '../api/input.ts';
import { verify } from '../api/operations.ts';
import type { Transaction } from '../api/transaction.ts';
import { ClosedError, ConfigurationError } from '../errors.ts';
import { ignoreErrors } from '../events.ts';
import { validateInput } from '../http/call.ts';
import {
  type PollingRules,
  type ReconcileItem,
  type ReconcileOptions,
  reconcileOptionsSchema,
  type WaitOptions,
} from '../options.ts';
import { parseOptions } from '../parse-options.ts';
import { isObject, isPlainObject } from '../support/untrusted.ts';
import { type Channel, createChannel, type Producer } from './channel.ts';
import { createWait, type NormalizedWait } from './normalize-wait.ts';
import type { Poller } from './poller.ts';
import type { Waiter } from './waiter.ts';

/** The result for one reference: the transaction as it is now, or the error of its check. */
export type ReconcileResult =
  | { reference: string; transaction: Transaction; error?: undefined }
  | { reference: string; transaction?: undefined; error: unknown };

type References = Iterable<string | ReconcileItem> | AsyncIterable<string | ReconcileItem>;

/** Checks each reference once and yields the results as they arrive. A reader who leaves ends all of it. */
export function reconcile(
  poller: Poller,
  references: References,
  options: ReconcileOptions,
  defaults: PollingRules,
  closing: AbortSignal,
): AsyncGenerator<ReconcileResult, void, void> {
  assertReferences(references);
  refuseItemOptions(options);
  return createChannel<ReconcileResult>((channel) => {
    if (closing.aborted) throw new ClosedError('verify');
    const { signal, ...waitOptions } = parseOptions(reconcileOptionsSchema, options, { operation: 'verify' });
    signal?.throwIfAborted();
    const normalize = (item: string | ReconcileItem) => normalizeItem(item, waitOptions, defaults);
    const checks = checkEach(poller, getIterator(references), normalize, channel);
    const onClose = () => channel.abort(new ClosedError('verify'));
    const onAbort = () => channel.abort(signal?.reason);
    closing.addEventListener('abort', onClose, { once: true });
    signal?.addEventListener('abort', onAbort, { once: true });
    return {
      ...checks,
      close() {
        closing.removeEventListener('abort', onClose);
        signal?.removeEventListener('abort', onAbort);
        checks.close();
      },
    };
  });
}

function assertReferences(references: References): void {
  if (isObject(references) && (isAsync(references) || typeof references[Symbol.iterator] === 'function'))
    return;
  throw new ConfigurationError('reconcile takes an iterable of references, such as an array.', {
    operation: 'verify',
  });
}

function refuseItemOptions(options: ReconcileOptions): void {
  if (!isPlainObject(options)) return;
  for (const name of ['expect', 'startedAt']) {
    if (Reflect.get(options, name) === undefined) continue;
    throw new ConfigurationError(`reconcile takes ${name} for each reference: { reference, ${name} }.`, {
      operation: 'verify',
    });
  }
}

function isAsync(references: References): references is AsyncIterable<string | ReconcileItem> {
  return Symbol.asyncIterator in references && typeof references[Symbol.asyncIterator] === 'function';
}

type Source = Iterator<string | ReconcileItem> | AsyncIterator<string | ReconcileItem>;

function getIterator(references: References): Source {
  return isAsync(references) ? references[Symbol.asyncIterator]() : references[Symbol.iterator]();
}

function normalizeItem(
  given: string | ReconcileItem,
  options: WaitOptions,
  defaults: PollingRules,
): NormalizedWait {
  const item = isObject(given)
    ? validateInput({ ...verify, input: reconcileItemSchema }, given)
    : { reference: given };
  const { reference, expect, startedAt } = item;
  const request = createWait(reference, { ...options, expect, startedAt }, defaults);
  // The timeout counts from now: yesterday's order gets as much time for its check as a new one.
  const elapsed = startedAt === undefined ? 0 : Math.max(0, Date.now() - startedAt);
  return { ...request, timeout: request.timeout + elapsed, until: 'transaction' };
}

/** How many checks are pending at once, however many references there are: enough to keep the polls busy. */
const MAX_PENDING = 256;

/** Starts a check for each reference, but reads the next reference only if the reader waits for a result. */
function checkEach(
  poller: Poller,
  source: Source,
  normalize: (item: string | ReconcileItem) => NormalizedWait,
  channel: Channel<ReconcileResult>,
): Required<Producer> {
  const pending = new Set<Waiter>();
  let isReading = false;
  let isExhausted = false;

  const onIdle = async () => {
    if (isReading) return;
    isReading = true;
    while (channel.isIdle && !isExhausted && pending.size < MAX_PENDING) await readNext();
    isReading = false;
  };
  const readNext = async () => {
    try {
      const next = await source.next();
      if (next.done) isExhausted = true;
      else if (channel.isOpen) startCheck(next.value);
      endIfDone();
    } catch (error) {
      isExhausted = true;
      channel.abort(error);
    }
  };
  const startCheck = (item: string | ReconcileItem) => {
    const reference = isObject(item) ? item.reference : item;
    try {
      const request = normalize(item);
      let waiter: Waiter | undefined;
      const check = new Promise<Transaction>((resolveCheck) => {
        waiter = poller.add(request, resolveCheck);
        if (waiter) pending.add(waiter);
      });
      const onResult = (result: ReconcileResult) => {
        if (waiter) pending.delete(waiter);
        channel.push(result);
        endIfDone();
      };
      check.then(
        (transaction) => onResult({ reference, transaction }),
        (error: unknown) => onResult({ reference, error }),
      );
    } catch (error) {
      // A wrong option is wrong for every reference.
      if (error instanceof ConfigurationError) channel.abort(error);
      else channel.push({ reference, error });
    }
  };
  const endIfDone = () => {
    if (isExhausted && pending.size === 0) channel.end();
  };

  return {
    onIdle,
    stop() {
      for (const waiter of pending) poller.remove(waiter);
      pending.clear();
    },
    close() {
      if (!isExhausted) ignoreErrors(() => source.return?.());
    },
  };
}
