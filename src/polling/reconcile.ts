import type { Transaction } from '../contract/transaction.ts';
import { ClosedError, ConfigurationError } from '../errors.ts';
import { shielded } from '../events.ts';
import { checkedSignal } from '../resolve-options.ts';
import type { Wait, WaitRequest } from './wait.ts';
import type { Waits } from './waits.ts';

/** What became of one reference: the transaction as it is now, or why that could not be learned. */
export type Reconciled =
  | { reference: string; transaction: Transaction; error?: undefined }
  | { reference: string; transaction?: undefined; error: unknown };

/** How many references are held at once, however many there are: enough to keep the polls busy. */
const WINDOW = 256;

/** One look at each reference, as the answers come. */
export async function* reconcile(
  waits: Waits,
  references: Iterable<string> | AsyncIterable<string>,
  signal: AbortSignal | undefined,
  requestFor: (reference: string) => WaitRequest,
): AsyncGenerator<Reconciled, void, void> {
  if (waits.closed) throw new ClosedError('verify');
  checkedSignal(signal)?.throwIfAborted();
  const source = iteratorOf(references);
  const ready: Reconciled[] = [];
  const asking = new Set<Wait>();
  let reading = false;
  let exhausted = false;
  let failure: { reason: unknown } | undefined;
  let wake = () => {};

  // At once, and not when the reader comes back: until then nobody would keep the polls from leaving.
  const stop = (reason: unknown) => {
    failure ??= { reason };
    for (const wait of asking) waits.leave(wait);
    asking.clear();
    wake();
  };
  const onAbort = () => stop(signal?.reason);

  const ask = (reference: string) => {
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
      wait = waits.join(requestFor(reference), (transaction) => settled({ reference, transaction }), refused);
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
      else if (!failure) ask(next.value);
    } catch (reason) {
      exhausted = true;
      stop(reason);
    }
    reading = false;
    wake();
  };

  try {
    signal?.addEventListener('abort', onAbort, { once: true });
    for (;;) {
      if (failure) throw failure.reason;
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
    signal?.removeEventListener('abort', onAbort);
    for (const wait of asking) waits.leave(wait);
    if (!exhausted) shielded(() => source.return?.());
  }
}

function iteratorOf(references: Iterable<string> | AsyncIterable<string>) {
  return Symbol.asyncIterator in references
    ? references[Symbol.asyncIterator]()
    : references[Symbol.iterator]();
}
