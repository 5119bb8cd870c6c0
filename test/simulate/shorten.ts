/** Finds out how little a world needs to fail: fewer faults, and fewer calls of customers. */

import { World, type WorldResult } from './world.ts';

export interface Shortened {
  readonly result: WorldResult;
  readonly leftOut: readonly string[];
  readonly left: readonly string[];
}

/** Leaves out as much as possible, in halves and smaller parts, so that the same invariant is still violated. */
export async function shorten(
  seed: number,
  whole: WorldResult,
  without: ReadonlySet<string>,
): Promise<Shortened> {
  const name = whole.violations[0]?.name;
  let result = whole;
  let leftOut = [...without];
  let left = whole.parts.filter((part) => !without.has(part));
  for (let size = Math.ceil(left.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let start = 0; start < left.length; ) {
      const tried = [...leftOut, ...left.slice(start, start + size)];
      const shorter = await new World(seed, new Set(tried)).run();
      if (shorter.violations[0]?.name === name) {
        result = shorter;
        leftOut = tried;
        left = left.filter((part) => !tried.includes(part));
      } else start += size;
    }
  return { result, leftOut, left };
}
