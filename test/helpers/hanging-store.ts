import { type JournalStore, memoryStore } from '../../src/stores/index.ts';

/** A step of the store. */
interface Step {
  readonly method: string;
  readonly key: unknown;
  /** Counted from 0, since `hang` was called. */
  readonly number: number;
}

/** A store whose steps stop settling, as those of a database whose table is locked or whose connection is dead. */
export interface HangingStore {
  readonly store: JournalStore;
  /** How many steps were begun since `hang` was called. */
  readonly countSteps: () => number;
  /** When the first step hung, on the clock of the test. */
  readonly hungAt: () => number | undefined;
  /** Hangs each step from now on that matches. */
  hang(matches: (step: Step) => boolean): void;
  /** Does what hangs, and hangs no more. */
  release(): void;
}

/** Opens a store, or another handle on one. */
export function createHangingStore(store: JournalStore = memoryStore()): HangingStore {
  let matches: (step: Step) => boolean = () => false;
  let steps = 0;
  let hungAt: number | undefined;
  let held: (() => void)[] = [];
  const run = async (method: string, call: unknown, values: unknown[]): Promise<unknown> => {
    if (typeof call !== 'function') throw new TypeError(`${method} is no function`);
    if (matches({ method, key: values[0], number: steps++ })) {
      hungAt ??= Date.now();
      await new Promise<void>((resolve) => held.push(resolve));
    }
    return await Reflect.apply(call, store, values);
  };
  return {
    store: new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        return value && ((...values: unknown[]) => run(String(name), value, values));
      },
    }),
    countSteps: () => steps,
    hungAt: () => hungAt,
    hang(next) {
      matches = next;
      steps = 0;
      hungAt = undefined;
    },
    release() {
      matches = () => false;
      for (const resolve of held) resolve();
      held = [];
    },
  };
}
