/** Numbers that are the same for the same seed: mulberry32. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** A stream of its own, so that what draws from one does not change what the others draw. */
  static of(seed: number, name: string): Random {
    let state = Math.imul(seed, 0x9e3779b1);
    for (let index = 0; index < name.length; index++)
      state = Math.imul(state ^ name.charCodeAt(index), 0x01000193);
    return new Random(state);
  }

  next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let bits = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };

  chance = (probability: number): boolean => this.next() < probability;

  between = (least: number, most: number): number => Math.round(least + this.next() * (most - least));

  pick<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.next() * items.length)];
    if (item === undefined) throw new Error('there is nothing to pick from');
    return item;
  }
}
