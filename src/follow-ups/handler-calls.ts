/** So many handlers run at once. Others wait for them, and checks do not. */
const MAX_HANDLERS = 64;

/** A handler that has not settled after this many milliseconds is reported, and holds back nothing any more. */
const SLOW_HANDLER = 60_000;

export class HandlerCalls {
  readonly #stop: AbortSignal;
  readonly #called = new Set<Promise<unknown>>();
  readonly #queued: (() => void)[] = [];
  #calling = 0;

  constructor(stop: AbortSignal) {
    this.#stop = stop;
    const goOn = () => {
      for (const go of this.#queued.splice(0)) go();
    };
    stop.addEventListener('abort', goOn, { once: true });
  }

  get size(): number {
    return this.#called.size;
  }

  /** Calls a handler once fewer than {@link MAX_HANDLERS} others run. */
  async call(handler: () => unknown, onSlow: () => void): Promise<void> {
    if (this.#calling >= MAX_HANDLERS) await new Promise<void>((go) => this.#queued.push(go));
    this.#stop.throwIfAborted();
    this.#calling += 1;
    let isCounted = true;
    const uncount = () => {
      if (!isCounted) return;
      isCounted = false;
      this.#calling -= 1;
      this.#queued.shift()?.();
    };
    const timer = setTimeout(() => {
      uncount();
      onSlow();
    }, SLOW_HANDLER);
    const called = (async () => await handler())();
    const settled = called.catch(() => {});
    this.#called.add(settled);
    try {
      await called;
    } finally {
      clearTimeout(timer);
      uncount();
      this.#called.delete(settled);
    }
  }

  async waitForAll(): Promise<void> {
    while (this.#called.size > 0) await Promise.all(this.#called);
  }
}
