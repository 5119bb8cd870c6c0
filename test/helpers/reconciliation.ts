import type { ReconcileResult } from '../../src/index.ts';

export const createReferences = (count: number) =>
  Array.from({ length: count }, (_, index) => `TXN-${index}`);

/** Collects the results of a reconciliation, and its error. */
export async function collectResults(results: AsyncIterable<ReconcileResult>) {
  const list: ReconcileResult[] = [];
  let error: unknown;
  try {
    for await (const result of results) list.push(result);
  } catch (thrown) {
    error = thrown;
  }
  return { list, error };
}

/** Creates a source of references that records how many were read, and whether it was closed. */
export function createTrackedSource(count: number) {
  const state = { read: 0, closed: false };
  function* source() {
    try {
      for (; state.read < count; state.read++) yield `TXN-${state.read}`;
    } finally {
      state.closed = true;
    }
  }
  return { state, source: source() };
}
