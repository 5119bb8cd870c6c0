import type { JournalStore } from '../../src/stores/index.ts';

/** A step of a store, such as `write order 17`. */
export interface StoreStep {
  readonly method: string;
  /** Of a read or a write. */
  readonly key: string;
}

/** Wraps each step of a store: `around` decides when it is done, whether, and what it returns. */
export function wrapStore(
  store: JournalStore,
  around: (step: StoreStep, run: () => Promise<unknown>) => Promise<unknown>,
): JournalStore {
  return new Proxy(store, {
    get(target, method) {
      const call: unknown = Reflect.get(target, method);
      if (typeof call !== 'function') return call;
      return (...values: unknown[]) => {
        const step = { method: String(method), key: String(values[0]) };
        return around(step, async (): Promise<unknown> => await Reflect.apply(call, target, values));
      };
    },
  });
}
