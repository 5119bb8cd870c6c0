import { createHash } from 'node:crypto';

/** A number from 0 up to 1: the same for the same parts, so that a seed repeats a run as far as processes can. */
export function chance(...parts: (string | number)[]): number {
  return createHash('sha256').update(parts.join('/')).digest().readUInt32BE() / 2 ** 32;
}

/** One of the names, each as often as its weight says. */
export function pick<Name extends string>(weights: Readonly<Record<Name, number>>, at: number): Name {
  const names: Name[] = [];
  for (const name in weights) names.push(name);
  const sum = names.reduce((total, name) => total + weights[name], 0);
  let left = at * sum;
  for (const name of names) {
    left -= weights[name];
    if (left < 0) return name;
  }
  throw new Error('there is nothing to pick from');
}
