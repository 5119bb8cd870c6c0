import { reconcileItemSchema } from '../api/input.ts';
import { verify } from '../api/operations.ts';
import type { Transaction } from '../api/transaction.ts';
import { ClosedError, ConfigurationError } from '../errors.ts';
import { ignoringErrors } from '../events.ts';
import { validateInput } from '../http/call.ts';
import type { ReconcileItem, ReconcileOptions, WaitOptions } from '../options.ts';
import { validateSignal } from '../resolve-options.ts';
import { cancelOnReturn } from './channel.ts';
import type { ResolvedWait, Waiter } from './poll-group.ts';
import type { Poller } from './poller.ts';

/** What became of one reference: the transaction as it is now, or why that could not be learned. */
export type ReconcileResult =
  | { reference: string; transaction: Transaction; error?: undefined }
  | { reference: string; transaction?: undefined; error: unknown };

/** How many references are held at once, however many there are: enough to keep the polls busy. */
const MAX_PENDING = 256;

/** Checks the options of one wait and fills in the client's. */
type ResolveWait = (reference: string, options: WaitOptions) => ResolvedWait;

type References = Iterable<string | ReconcileItem> | AsyncIterable<string | ReconcileItem>;

/** One look at each reference, as the answers come. Whoever stops reading ends it. */
export function reconcile(
  waits: Poller,
  references: References,
  options: ReconcileOptions,
  resolveWait: ResolveWait,
): AsyncGenerator<ReconcileResult, void, void> {
  checkReferences(references);
  for (const name of ['expect', 'startedAt']) {
    if (Reflect.get(options, name) === undefined) continue;
    throw new ConfigurationError(`reconcile takes ${name} for each reference: { reference, ${name} }.`);
  }
  const { signal, ...rest } = options;
  const requestFor = (item: string | ReconcileItem) => requestForItem(item, rest, resolveWait);
  return cancelOnReturn((onBegin) => reconcileEach(waits, references, signal, requestFor, onBegin));
}

function requestForItem(
  given: string | ReconcileItem,
  options: ReconcileOptions,
  resolveWait: ResolveWait,
): ResolvedWait {
  const item = isItem(given)
    ? validateInput({ ...verify, input: reconcileItemSchema }, given)
    : { reference: given };
  const { reference, expect, startedAt } = item;
  const request = resolveWait(reference, { ...options, expect, startedAt });
  // The timeout counts from now: an order of yesterday gets as much time to be checked as a new one.
  const elapsed = startedAt === undefined ? 0 : Math.max(0, Date.now() - startedAt);
  return { ...request, timeout: request.timeout + elapsed, once: true };
}

function isItem(given: string | ReconcileItem): given is ReconcileItem {
  return typeof given === 'object' && given !== null;
}

async function* reconcileEach(
  waits: Poller,
  references: References,
  signal: AbortSignal | undefined,
  requestFor: (item: string | ReconcileItem) => ResolvedWait,
  onBegin: (leave: () => void) => void,
): AsyncGenerator<ReconcileResult, void, void> {
  if (waits.closed) throw new ClosedError('verify');
  validateSignal(signal, 'verify')?.throwIfAborted();
  const source = iteratorOf(references);
  const resultQueue: ReconcileResult[] = [];
  const pending = new Set<Waiter>();
  let reading = false;
  let exhausted = false;
  let finish: (() => void) | undefined;
  let wake = () => {};

  // At once, and not when the reader comes back: until then nobody would keep the polls from leaving.
  const end = (how: () => void) => {
    finish ??= how;
    for (const wait of pending) waits.remove(wait);
    pending.clear();
    wake();
  };
  const stop = (reason: unknown) =>
    end(() => {
      throw reason;
    });
  const onAbort = () => stop(signal?.reason);

  const ask = (item: string | ReconcileItem) => {
    const reference = isItem(item) ? item.reference : item;
    let wait: Waiter | undefined;
    const settled = (result: ReconcileResult) => {
      if (wait) pending.delete(wait);
      resultQueue.push(result);
      wake();
    };
    const refused = (error: unknown) => {
      if (error instanceof ClosedError) stop(error);
      else settled({ reference, error });
    };
    try {
      wait = waits.add(requestFor(item), (transaction) => settled({ reference, transaction }), refused);
      if (wait) pending.add(wait);
    } catch (error) {
      // A wrong option is wrong for every reference.
      if (error instanceof ConfigurationError) stop(error);
      else settled({ reference, error });
    }
  };

  const readNext = async () => {
    reading = true;
    try {
      const next = await source.next();
      if (next.done) exhausted = true;
      else if (!finish) ask(next.value);
    } catch (reason) {
      exhausted = true;
      stop(reason);
    }
    reading = false;
    wake();
  };

  waits.onClose.add(stop);
  onBegin(() => end(() => {}));
  try {
    signal?.addEventListener('abort', onAbort, { once: true });
    for (;;) {
      if (finish) return finish();
      const result = resultQueue.shift();
      if (result) {
        yield result;
        continue;
      }
      if (exhausted && pending.size === 0) return;
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      if (!exhausted && !reading && pending.size < MAX_PENDING) readNext();
      await woken;
    }
  } finally {
    waits.onClose.delete(stop);
    signal?.removeEventListener('abort', onAbort);
    for (const wait of pending) waits.remove(wait);
    if (!exhausted) ignoringErrors(() => source.return?.());
  }
}

function checkReferences(references: References): void {
  const given = typeof references === 'object' && references !== null;
  if (given && (isAsync(references) || typeof references[Symbol.iterator] === 'function')) return;
  throw new ConfigurationError(
    'reconcile takes references as a list, or as anything else that can be iterated.',
  );
}

function iteratorOf(references: References) {
  return isAsync(references) ? references[Symbol.asyncIterator]() : references[Symbol.iterator]();
}

function isAsync(references: References): references is AsyncIterable<string | ReconcileItem> {
  return Symbol.asyncIterator in references && typeof references[Symbol.asyncIterator] === 'function';
}
