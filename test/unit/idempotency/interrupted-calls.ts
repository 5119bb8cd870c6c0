import type { JournalState, JournalStore, RecordChange } from '../../../src/stores/index.ts';
import { stateOf } from '../../helpers/journals.ts';
import { API_KEY } from '../../helpers/service.ts';
import { connectionRefused, type ProcessOptions, type Respond } from '../../helpers/world.ts';

/** Wraps a store: `step` decides about each write that leaves a key or an order in this state. */
export function interceptWrites(
  store: JournalStore,
  state: JournalState,
  step: (write: () => Promise<boolean>, change: RecordChange) => Promise<boolean>,
): JournalStore {
  return {
    ...store,
    write: (key, change) => {
      const write = () => store.write(key, change);
      return stateOf(change.text) === state ? step(write, change) : write();
    },
  };
}

/** As a driver rejects whose connection is lost. */
export const failWrite = () =>
  Promise.reject(Object.assign(new Error('terminating connection'), { code: '57P01' }));

export const never = () => new Promise<never>(() => {});

/** Runs `work` between the claim and the request: the first attempt gets no connection, and the retry asks for the API key. */
export function betweenClaimAndRequest(work: () => unknown): ProcessOptions & { respond: Respond } {
  let keys = 0;
  let attempts = 0;
  return {
    client: {
      apiKey: async () => {
        if (++keys === 2) await work();
        return API_KEY;
      },
      maxRetries: 1,
    },
    respond: () => {
      if (++attempts === 1) throw connectionRefused;
      return undefined;
    },
  };
}
