/** Creates a random function whose numbers from 0 to 1 depend on the seed alone: mulberry32. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Draws a log-normal number with the median 1. */
export function drawLogNormal(random: () => number, sigma: number): number {
  const radius = Math.sqrt(-2 * Math.log(1 - random()));
  return Math.exp(sigma * radius * Math.cos(2 * Math.PI * random()));
}

/** Draws one of the values, each with the probability of its weight. The weights add up to 1. */
export function drawOne<Value>(random: () => number, choices: readonly (readonly [Value, number])[]): Value {
  let left = random();
  for (const [value, weight] of choices) {
    left -= weight;
    if (left < 0) return value;
  }
  const [last] = choices.at(-1) ?? [];
  if (last === undefined) throw new Error('There is nothing to choose from.');
  return last;
}
