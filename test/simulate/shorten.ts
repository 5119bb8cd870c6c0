/** Finds out how little a world needs to fail: fewer faults, and fewer calls of customers. */

import { World, type WorldResult } from './world.ts';

export interface Shortened {
  readonly result: WorldResult;
  readonly without: readonly string[];
}

/** Leaves out as much as possible, in halves and smaller parts, so that the same invariant is still violated. */
export async function shorten(seed: number, whole: WorldResult): Promise<Shortened> {
  const name = whole.violations[0]?.name;
  let best: Shortened = { result: whole, without: [] };
  let parts = [...whole.parts];
  for (let size = Math.ceil(parts.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < parts.length; ) {
      const without = [...best.without, ...parts.slice(start, start + size)];
      const result = await new World(seed, new Set(without)).run();
      if (result.violations[0]?.name === name) {
        best = { result, without };
        parts = parts.filter((part) => !without.includes(part));
      } else start += size;
    }
  }
  return best;
}
