/** A time by two clocks. The monotonic one stands still while the machine sleeps, and the wall clock can be set. */
export interface Timestamp {
  readonly monotonic: number;
  readonly wall: number;
}

export const readClocks = (): Timestamp => ({ monotonic: performance.now(), wall: Date.now() });

/** Returns milliseconds, by the clock on which more time has passed. */
export function elapsedSince({ monotonic, wall }: Timestamp): number {
  return Math.max(performance.now() - monotonic, Date.now() - wall);
}

/** A notification brings the check of one reference forward at most this often, in milliseconds. */
export const NOTIFY_INTERVAL = 1_000;

/** A replica of the service can lag behind: a 404 is permanent once it has lasted this long, in milliseconds. */
export const NOT_FOUND_GRACE = 10_000;

export class DeadlineExceeded extends Error {}

/** The caller's signal was aborted. Its reason can be anything. */
export class CallerAborted {
  readonly reason: unknown;

  constructor(reason: unknown) {
    this.reason = reason;
  }
}

/** Ends the wait for some work at once, with this error. */
type Stop = (why: unknown) => void;

/**
 * Runs `work` for at most `timeout` milliseconds. Rejects with {@link DeadlineExceeded} or {@link CallerAborted} at once,
 * even if the work ignores its signal. Only if the process was frozen or busy, what arrived meanwhile is read first, unless
 * `hasLeft` says that nothing can have arrived. It leaves no timer and no listener.
 */
export function withTimeout<T>(
  timeout: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal, stop: Stop) => Promise<T>,
  hasLeft?: () => boolean,
): Promise<T> {
  const controller = new AbortController();
  return withDeadline(
    timeout,
    signal,
    (stop) => work(controller.signal, stop),
    hasLeft,
    (why) => controller.abort(why),
  );
}

/** A timer that fires so much later than it should, in milliseconds, shows that the process was frozen or busy. */
const LATE = 20;

/** So many turns of the event loop read a response of any size that has arrived meanwhile. */
const LATE_TURNS = 20;

/** As {@link withTimeout}, for work that takes no signal. `onStop` is told why it is not waited for any more. */
export function withDeadline<T>(
  timeout: number,
  signal: AbortSignal | undefined,
  work: (stop: Stop) => Promise<T>,
  hasLeft = () => true,
  onStop?: Stop,
): Promise<T> {
  if (signal?.aborted) return Promise.reject(new CallerAborted(signal.reason));
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    let isOver = false;
    const release = () => {
      isOver = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    // The work might never end, so it is not awaited.
    const stop: Stop = (why) => {
      if (isOver) return;
      release();
      reject(why);
      onStop?.(why);
    };
    const onAbort = () => stop(new CallerAborted(signal?.reason));
    const timer = setTimeout(async () => {
      // Timers fire before sockets are read: a charge whose response is there must not count as unknown. Before they are
      // written, too: what has not left yet never does.
      const isLate = performance.now() - startedAt > timeout + LATE;
      for (let turn = 0; isLate && hasLeft() && turn < LATE_TURNS && !isOver; turn++) await nextTurn();
      stop(new DeadlineExceeded());
    }, timeout);
    signal?.addEventListener('abort', onAbort, { once: true });

    work(stop).then(
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

/** Waits for `delay` milliseconds. Rejects with the signal's own reason when it is aborted. */
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
 * The runtime's own `setImmediate`, found before a test can replace it, since a fake one never ends by itself. The real one of
 * Node, Bun and Deno has a getter for `util.promisify`.
 */
const ownImmediate = /* @__PURE__ */ findOwnImmediate();

function findOwnImmediate(): typeof setImmediate | undefined {
  if (typeof setImmediate !== 'function') return undefined;
  const promisified = Symbol.for('nodejs.util.promisify.custom');
  return Object.getOwnPropertyDescriptor(setImmediate, promisified)?.get && setImmediate;
}

/**
 * Waits for the next turn of the event loop, also under a test's fake timers.
 *
 * A new message channel each time costs 30 µs of CPU, but a message to a port that is just being served would still arrive
 * in the same turn. Without message channels, nothing is waited for.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (ownImmediate) return void ownImmediate(resolve);
    if (typeof MessageChannel === 'undefined') return resolve();
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
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

/**
 * An `AbortController`, and its signal, in plain JavaScript, for what many requests share. In workerd (Cloudflare) the runtime's
 * own belongs to the one request in which it was made, and cannot be made outside of one.
 */
export class SharedAbortController implements AbortController, AbortSignal {
  readonly #listeners = new Set<unknown>();
  aborted = false;
  reason: unknown;
  onabort = null;

  get signal(): AbortSignal {
    return this;
  }

  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.dispatchEvent();
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  addEventListener(_type: 'abort', listener: unknown): void {
    this.#listeners.add(listener);
  }

  removeEventListener(_type: 'abort', listener: unknown): void {
    this.#listeners.delete(listener);
  }

  dispatchEvent(): boolean {
    for (const listener of [...this.#listeners]) {
      // One that a listener before it has removed is not called.
      if (!this.#listeners.delete(listener)) continue;
      try {
        if (typeof listener === 'function') listener();
      } catch {
        // What belongs to another request of a Worker cannot be ended from here, and must not keep the others from their end.
      }
    }
    return true;
  }
}
