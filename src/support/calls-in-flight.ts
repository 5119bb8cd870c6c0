import { nextTurn, withDeadline } from './timing.ts';

export interface CallInFlight {
  readonly name: string;
  /** What tells which call it is, such as its idempotency key. */
  readonly id: string | undefined;
}

/** The calls of one client that have not ended. Each records its outcome before it ends, so `close` waits for them. */
export class CallsInFlight {
  readonly #calls = new Set<CallInFlight>();
  #onEnd = () => {};

  async track<T>(run: () => Promise<T>, name: string, id?: string): Promise<T> {
    const call = { name, id };
    this.#calls.add(call);
    try {
      return await run();
    } finally {
      this.#calls.delete(call);
      this.#onEnd();
    }
  }

  /** Resolves once every call has ended, or after `timeout` milliseconds, with those that have not. */
  async waitForAll(timeout: number): Promise<CallInFlight[]> {
    const ended = new Promise<void>((resolve) => {
      this.#onEnd = () => {
        if (this.#calls.size === 0) resolve();
      };
    });
    this.#onEnd();
    await withDeadline(timeout, undefined, () => ended).catch(() => {});
    // The callers get their results first.
    await nextTurn();
    return [...this.#calls];
  }
}
