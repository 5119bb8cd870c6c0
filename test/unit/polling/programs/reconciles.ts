// Run by processes.test.ts with --expose-gc. It prints which sources of a finished reconcile are still in memory
// while their client is in use.
import { setTimeout as passed } from 'node:timers/promises';
import { PaymentsClient } from 'payment-collection-client';

const payments = new PaymentsClient({
  apiKey: 'sk_test_4vK9qLm2Xw7RtZ',
  baseUrl: 'http://127.0.0.1:1/api/v1',
  fetch: () => new Promise(() => {}),
});

/** Only a reconcile that is still in memory can hold its source. */
async function reconciled(end: string): Promise<WeakRef<object>> {
  const iterator = {
    left: end === 'all read' ? 3 : 1_000,
    next() {
      // Invalid references: each yields an error at once.
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
// The client must be in memory until here.
payments.close();
console.log(JSON.stringify({ held, gc: typeof globalThis.gc }));
