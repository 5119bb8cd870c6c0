import { createHash } from 'node:crypto';

/** Returns a number in [0, 1), the same for the same parts. A seed repeats a run as far as processes can. */
export function seededRandom(...parts: (string | number)[]): number {
  return createHash('sha256').update(parts.join('/')).digest().readUInt32BE() / 2 ** 32;
}

/** Returns one of the names, each in proportion to its weight. `at` is a number in [0, 1). */
export function pickWeighted<Name extends string>(weights: Readonly<Record<Name, number>>, at: number): Name {
  const names: Name[] = [];
  for (const name in weights) names.push(name);
  const sum = names.reduce((total, name) => total + weights[name], 0);
  let left = at * sum;
  for (const name of names) {
    left -= weights[name];
    if (left < 0) return name;
  }
  throw new Error('No weights were given.');
}
