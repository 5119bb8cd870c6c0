import { quoteKey } from './errors.ts';
import { nextTurn, withDeadline } from './support/timing.ts';

/** The calls of one client that have not ended. Each records its outcome before it ends, so `close` waits for them. */
export class CallsInFlight {
  readonly #calls = new Set<{ readonly name: string; readonly id: string | undefined }>();
  #onEnd = () => {};

  /** Runs a call. `name` and `id`, such as its idempotency key, tell which it is. */
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
  async waitForAll(timeout: number, redactId: (id: string) => string): Promise<string[]> {
    const ended = new Promise<void>((resolve) => {
      this.#onEnd = () => {
        if (this.#calls.size === 0) resolve();
      };
    });
    this.#onEnd();
    await withDeadline(timeout, undefined, () => ended).catch(() => {});
    // The callers get their results first.
    await nextTurn();
    return [...this.#calls].map(({ name, id }) =>
      id === undefined ? name : `${name} ${quoteKey(redactId(id))}`,
    );
  }
}
