import type { Transaction } from '../contract/transaction.ts';
import { shielded } from '../events.ts';
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
  const source = iteratorOf(references);
  const ready: Reconciled[] = [];
  const asking = new Set<Wait>();
  let reading: Promise<void> | undefined;
  let exhausted = false;
  let failure: { reason: unknown } | undefined;
  let wake = () => {};
  const onAbort = () => {
    failure = { reason: signal?.reason };
    wake();
  };

  const ask = (reference: string) => {
    const settled = (result: Reconciled) => {
      if (wait) asking.delete(wait);
      ready.push(result);
      wake();
    };
    let wait: Wait | undefined;
    try {
      const done = (transaction: Transaction) => settled({ reference, transaction });
      wait = waits.join(requestFor(reference), done, (error) => settled({ reference, error }));
      if (wait) asking.add(wait);
    } catch (error) {
      settled({ reference, error });
    }
  };

  const readNext = async () => {
    try {
      const next = await source.next();
      if (next.done) exhausted = true;
      else if (!failure) ask(next.value);
    } catch (reason) {
      failure = { reason };
    }
    reading = undefined;
    wake();
  };

  try {
    if (signal?.aborted) throw signal.reason;
    signal?.addEventListener('abort', onAbort, { once: true });
    for (;;) {
      if (failure) throw failure.reason;
      const result = ready.shift();
      if (result) {
        yield result;
        continue;
      }
      if (exhausted && asking.size === 0) return;
      if (!exhausted && !reading && asking.size < WINDOW) reading = readNext();
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
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
