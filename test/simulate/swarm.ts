/** What can go wrong. Each seed switches on some of it: faults that always come together hide each other. */

import { Random } from './random.ts';

export const FAULTS = [
  'database: fails before the step',
  'database: fails after the commit',
  'database: never answers',
  'database: commits late',
  'database: repeats a write',
  'database: slow step',
  'database: away',
  'database: a record is locked',
  'database: clock is set',
  'process: dies',
  'process: freezes',
  'process: sleeps',
  'process: clock is set',
  'process: closes',
  'handler: throws',
  'handler: hangs',
  'network: refused',
  'network: reset before the service',
  'network: response lost',
  'network: no response',
  'network: slow',
  'network: slow to connect',
  'response: cut',
  'response: slow',
  'response: huge',
  'service: rejects',
  'service: rejects and names another',
  'service: rate limit',
  'service: unavailable',
  'service: API key refused',
  'service: error after acceptance',
  'service: error with reference',
  'service: suppresses a duplicate',
  'service: charges another amount',
  'service: shows another amount',
  'service: paid after its end',
  'service: not found at first',
  'service: old status',
  'service: unknown status',
  'customer: leaves',
  'person: errs',
  'person: decides again',
  'person: adds a transaction',
] as const;

export type Fault = (typeof FAULTS)[number];

export class Swarm {
  readonly on: ReadonlySet<Fault>;
  /** How often each happened. */
  readonly counts: Record<string, number> = {};
  /** Whether faults happen at all: at the end of a world, everything heals. */
  isActive = true;
  readonly #random: Random;
  readonly #level: number;

  constructor(seed: number, without: ReadonlySet<string>) {
    const random = Random.of(seed, 'swarm');
    const share = random.pick([0, 0.15, 0.3, 0.5]);
    this.#level = random.pick([0.5, 1, 1, 2]);
    // Drawn for each, so that switching one off leaves the others as they are.
    const on = FAULTS.filter(() => random.chance(share));
    this.on = new Set(on.filter((fault) => !without.has(fault)));
    this.#random = Random.of(seed, 'faults');
  }

  /** Whether a fault happens now. */
  happens(fault: Fault, probability: number): boolean {
    const isDrawn = this.#random.chance(probability * this.#level);
    if (!isDrawn || !this.isActive || !this.on.has(fault)) return false;
    this.count(fault);
    return true;
  }

  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }
}
