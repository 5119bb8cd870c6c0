/** A moment by two clocks: one of them stands still while the machine sleeps, the other may be set. */
export interface Timestamp {
  readonly monotonic: number;
  readonly wall: number;
}

export const readClocks = (): Timestamp => ({ monotonic: performance.now(), wall: Date.now() });

/** By whichever clock says more. */
export function elapsedSince({ monotonic, wall }: Timestamp): number {
  return Math.max(performance.now() - monotonic, Date.now() - wall);
}

/** The time that was given is over. */
export class DeadlineExceeded extends Error {}

/** The caller's signal was aborted; its reason may be anything. */
export class CallerAborted {
  readonly reason: unknown;

  constructor(reason: unknown) {
    this.reason = reason;
  }
}

/**
 * Runs `work`, and rejects with {@link DeadlineExceeded} or {@link CallerAborted} at the moment that happens, also where the work
 * itself takes no notice of the signal it is given. No timer and no listener is left behind.
 */
export function withTimeout<T>(
  timeout: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (signal?.aborted) return Promise.reject(new CallerAborted(signal.reason));
  return new Promise((resolve, reject) => {
    const controller = new AbortController();
    const release = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    // The work may never end, so nothing waits for it here.
    const stop = (why: DeadlineExceeded | CallerAborted) => {
      release();
      reject(why);
      controller.abort(why);
    };
    const onAbort = () => stop(new CallerAborted(signal?.reason));
    const timer = setTimeout(() => stop(new DeadlineExceeded()), timeout);
    signal?.addEventListener('abort', onAbort, { once: true });

    work(controller.signal).then(
      (result) => {
        release();
        resolve(result);
      },
      (error: unknown) => {
        release();
        reject(error);
      },
    );
  });
}

/** Waits; rejects with the signal's own reason as soon as it is aborted. */
export function sleep(delay: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, delay);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/**
 * Returns one signal for the caller's own and for `closing`, whose reason becomes `closedReason()`. Both outlive the
 * call: `release` leaves no listener on them, which `AbortSignal.any` would.
 */
export function linkSignals(
  own: AbortSignal | undefined,
  closing: AbortSignal,
  closedReason: () => unknown,
): { signal: AbortSignal; release: () => void } {
  const either = new AbortController();
  const onAbort = () => either.abort(own?.reason);
  const onClose = () => either.abort(closedReason());
  own?.addEventListener('abort', onAbort, { once: true });
  closing.addEventListener('abort', onClose, { once: true });
  if (own?.aborted) onAbort();
  if (closing.aborted) onClose();
  return {
    signal: either.signal,
    release: () => {
      own?.removeEventListener('abort', onAbort);
      closing.removeEventListener('abort', onClose);
    },
  };
}
