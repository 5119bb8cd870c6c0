import { reconcileItemSchema } from '../contract/input.ts';
import type { Transaction } from '../contract/transaction.ts';
import { ClosedError, ConfigurationError } from '../errors.ts';
import { shielded } from '../events.ts';
import { verify } from '../operations.ts';
import type { ReconcileItem, ReconcileOptions, WaitOptions } from '../polling-options.ts';
import { checkedSignal } from '../resolve-options.ts';
import { checkedInput } from '../transport/request.ts';
import { endingAtOnce } from './ending-at-once.ts';
import type { Wait, WaitRequest } from './wait.ts';
import type { Waits } from './waits.ts';

/** What became of one reference: the transaction as it is now, or why that could not be learned. */
export type Reconciled =
  | { reference: string; transaction: Transaction; error?: undefined }
  | { reference: string; transaction?: undefined; error: unknown };

/** How many references are held at once, however many there are: enough to keep the polls busy. */
const WINDOW = 256;

/** Checks the options of one wait and fills in the client's. */
type ResolveWait = (reference: string, options: WaitOptions) => WaitRequest;

type References = Iterable<string | ReconcileItem> | AsyncIterable<string | ReconcileItem>;

/** One look at each reference, as the answers come. Whoever stops reading ends it. */
export function reconcile(
  waits: Waits,
  references: References,
  options: ReconcileOptions,
  resolveWait: ResolveWait,
): AsyncGenerator<Reconciled, void, void> {
  checkReferences(references);
  for (const name of ['expect', 'startedAt']) {
    if (Reflect.get(options, name) === undefined) continue;
    throw new ConfigurationError(`reconcile takes ${name} for each reference: { reference, ${name} }.`);
  }
  const { signal, ...rest } = options;
  const requestFor = (item: string | ReconcileItem) => requestForItem(item, rest, resolveWait);
  return endingAtOnce((onBegin) => resultsOf(waits, references, signal, requestFor, onBegin));
}

function requestForItem(
  given: string | ReconcileItem,
  options: ReconcileOptions,
  resolveWait: ResolveWait,
): WaitRequest {
  const item = isItem(given)
    ? checkedInput({ ...verify, input: reconcileItemSchema }, given)
    : { reference: given };
  const { reference, expect, startedAt } = item;
  const request = resolveWait(reference, { ...options, expect, startedAt });
  // The timeout counts from now: an order of yesterday gets as much time to be checked as a new one.
  const elapsed = startedAt === undefined ? 0 : Math.max(0, Date.now() - startedAt);
  return { ...request, timeout: request.timeout + elapsed, oneLook: true };
}

function isItem(given: string | ReconcileItem): given is ReconcileItem {
  return typeof given === 'object' && given !== null;
}

async function* resultsOf(
  waits: Waits,
  references: References,
  signal: AbortSignal | undefined,
  requestFor: (item: string | ReconcileItem) => WaitRequest,
  onBegin: (leave: () => void) => void,
): AsyncGenerator<Reconciled, void, void> {
  if (waits.closed) throw new ClosedError('verify');
  checkedSignal(signal, 'verify')?.throwIfAborted();
  const source = iteratorOf(references);
  const ready: Reconciled[] = [];
  const asking = new Set<Wait>();
  let reading = false;
  let exhausted = false;
  let over: (() => void) | undefined;
  let wake = () => {};

  // At once, and not when the reader comes back: until then nobody would keep the polls from leaving.
  const end = (how: () => void) => {
    over ??= how;
    for (const wait of asking) waits.leave(wait);
    asking.clear();
    wake();
  };
  const stop = (reason: unknown) =>
    end(() => {
      throw reason;
    });
  const onAbort = () => stop(signal?.reason);

  const ask = (item: string | ReconcileItem) => {
    const reference = isItem(item) ? item.reference : item;
    let wait: Wait | undefined;
    const settled = (result: Reconciled) => {
      if (wait) asking.delete(wait);
      ready.push(result);
      wake();
    };
    const refused = (error: unknown) => {
      if (error instanceof ClosedError) stop(error);
      else settled({ reference, error });
    };
    try {
      wait = waits.join(requestFor(item), (transaction) => settled({ reference, transaction }), refused);
      if (wait) asking.add(wait);
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
      else if (!over) ask(next.value);
    } catch (reason) {
      exhausted = true;
      stop(reason);
    }
    reading = false;
    wake();
  };

  waits.closers.add(stop);
  onBegin(() => end(() => {}));
  try {
    signal?.addEventListener('abort', onAbort, { once: true });
    for (;;) {
      if (over) return over();
      const result = ready.shift();
      if (result) {
        yield result;
        continue;
      }
      if (exhausted && asking.size === 0) return;
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      if (!exhausted && !reading && asking.size < WINDOW) readNext();
      await woken;
    }
  } finally {
    waits.closers.delete(stop);
    signal?.removeEventListener('abort', onAbort);
    for (const wait of asking) waits.leave(wait);
    if (!exhausted) shielded(() => source.return?.());
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
