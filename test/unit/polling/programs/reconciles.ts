// Run by reconcile-forgets.test.ts with --expose-gc: says which sources of a finished reconcile are still held while
// their client is in use.
import { setTimeout as passed } from 'node:timers/promises';
import { PaymentsClient } from '../../../../src/index.ts';

const payments = new PaymentsClient({
  apiKey: 'sk_test_4vK9qLm2Xw7RtZ',
  baseUrl: 'http://127.0.0.1:1/api/v1',
  fetch: () => new Promise(() => {}),
});

/** What it iterates over can be held only by a reconcile that is not forgotten. */
async function reconciled(end: string): Promise<WeakRef<object>> {
  const iterator = {
    left: end === 'all read' ? 3 : 1_000,
    next() {
      // References that are none: each is answered at once, with an error.
      const value = 'no reference';
      return this.left-- > 0 ? { done: false, value } : { done: true, value };
    },
    return: () => ({ done: true, value: '' }),
  };
  const abort = new AbortController();
  const results = payments.reconcile({ [Symbol.iterator]: () => iterator }, { signal: abort.signal });
  if (end === 'never read') return new WeakRef(iterator);
  try {
    for await (const _ of results) {
      if (end === 'break') break;
      if (end === 'abort') abort.abort();
    }
  } catch {}
  return new WeakRef(iterator);
}

const ends = ['all read', 'break', 'abort', 'never read'];
const references = new Map<string, WeakRef<object>>();
for (const end of ends) references.set(end, await reconciled(end));
for (let count = 0; count < 20; count++) {
  await passed(10);
  globalThis.gc?.();
}
const held = ends.filter((end) => references.get(end)?.deref() !== undefined);
// The client has to be alive until here.
payments.close();
console.log(JSON.stringify({ held, gc: typeof globalThis.gc }));
