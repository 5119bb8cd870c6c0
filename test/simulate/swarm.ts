/**
 * What can go wrong, and what has to occur. Each seed switches on some of the faults, and turns a few of them up: faults that always
 * come together hide each other, and one that is rare meets no other.
 */

import { Random } from './random.ts';

/** How likely each is whenever it could happen. */
const FREQUENT = {
  'database: fails before the step': 0.02,
  'database: fails after the commit': 0.02,
  'database: never answers': 0.01,
  'database: commits late': 0.01,
  'database: repeats a write': 0.03,
  'database: slow step': 0.02,
  'database: away': 0.2,
  'database: clock is set': 0.5,
  'process: dies': 0.5,
  'process: freezes': 1,
  'process: sleeps': 0.5,
  'process: clock is set': 1,
  'process: closes': 0.5,
  'process: of another service': 0.7,
  'process: API key fails': 0.01,
  'handler: throws': 0.2,
  'handler: hangs': 0.2,
  'handler: calls back': 0.3,
  'network: refused': 0.1,
  'network: reset before the service': 0.05,
  'network: response lost': 0.06,
  'network: no response': 0.06,
  'network: slow': 0.1,
  'network: slow to connect': 0.1,
  'response: cut': 0.05,
  'response: slow': 0.05,
  'service: rejects': 0.2,
  'service: rate limit': 0.05,
  'service: unavailable': 0.07,
  'service: API key refused': 0.03,
  'service: not found at first': 0.5,
  'service: unknown status': 0.05,
  'customer: leaves': 0.3,
  'webhook: without a reference': 0.5,
  'webhook: before the response': 0.5,
  'webhook: of others': 0.5,
  'person: errs': 0.4,
  'person: decides again': 0.3,
  'person: adds a transaction': 0.2,
} as const;

/** They have few occasions in a world, so more of the worlds have them. */
const RARE = {
  'database: a record is locked': 0.7,
  'response: huge': 0.02,
  'service: rejects and names another': 0.4,
  'service: refusal cut after acceptance': 0.1,
  'service: error after acceptance': 0.2,
  'service: error with reference': 0.2,
  'service: suppresses a duplicate': 1,
  'service: suppresses what has ended': 0.7,
  'service: confirms another status': 0.5,
  'service: shows another transaction': 0.1,
  'service: address with an email': 0.5,
  'service: charges another amount': 0.3,
  'service: shows another amount': 0.3,
  'service: paid after its end': 0.8,
  'service: paid weeks later': 0.3,
  'service: forgets a transaction': 0.6,
  'service: cannot show a transaction': 0.5,
  'service: old status': 0.2,
  'customer: answers after a week': 0.3,
} as const;

const FAULTS = { ...FREQUENT, ...RARE };

export type Fault = keyof typeof FAULTS;

const isFault = (name: string): name is Fault => Object.hasOwn(FAULTS, name);

/** What has to occur in a hundred worlds, beside the faults: what never did was not tested. */
const EXPECTED = {
  state: 'unpaid, processing, paid, in_review',
  status: 'success, failed, abandoned, pending',
  listed: 'unresolved, shared_reference, mismatch, gone, price_changed, paid_twice, unreadable, overdue',
  resolved:
    'unresolved reference, unresolved not_charged, shared_reference closed, mismatch accepted, mismatch closed, ' +
    'price_changed accepted, price_changed closed, paid_twice closed, gone closed, unreadable closed, overdue closed',
  handler: 'onPaid, onUnpaid, onFinal, onAttention',
  key: 'charged, replayed',
  happened: 'press, charge, webhook, pruned',
  database: 'SQLite',
};

/** Returns what never occurred. */
export function findMissing(counts: Readonly<Record<string, number>>): string[] {
  const expected = Object.entries(EXPECTED).flatMap(([kind, list]) =>
    list.split(', ').map((what) => `${kind}: ${what}`),
  );
  return [...Object.keys(FAULTS), ...expected].filter((what) => !counts[what]);
}

export class Swarm {
  readonly on: ReadonlySet<Fault>;
  /** How often each happened. */
  readonly counts: Record<string, number> = {};
  /** Whether faults happen at all: at the end of a world, everything heals. */
  isActive = true;
  readonly #random: Random;
  readonly #rates = new Map<Fault, number>();

  constructor(seed: number, without: ReadonlySet<string>) {
    const random = Random.of(seed, 'swarm');
    const share = random.pick([0, 0.2, 0.3, 0.5]);
    const level = random.pick([0.5, 1, 1, 2]);
    const turnedUp = random.pick([0, 0.08, 0.08, 0.15]);
    for (const name of Object.keys(FAULTS).filter(isFault)) {
      // Drawn for each, so that leaving one out changes no other.
      const isOn = random.chance(share * (name in RARE ? 2 : 1));
      const isUp = random.chance(turnedUp);
      if (isOn || isUp)
        this.#rates.set(name, Math.min(isUp ? 0.8 : 1, FAULTS[name] * level * (isUp ? 6 : 1)));
    }
    this.on = new Set([...this.#rates.keys()].filter((fault) => !without.has(fault)));
    this.#random = Random.of(seed, 'faults');
  }

  /** Whether a fault happens now. `factor`: how likely it is here, beside elsewhere. */
  happens(fault: Fault, factor = 1): boolean {
    const isDrawn = this.#random.chance((this.#rates.get(fault) ?? 0) * factor);
    if (!isDrawn || !this.isActive || !this.on.has(fault)) return false;
    this.count(fault);
    return true;
  }

  count = (what: string): void => {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  };
}
