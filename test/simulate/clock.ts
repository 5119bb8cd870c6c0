/**
 * Virtual time, and the scheduler: all that happens in a world is an event of this clock, and one seed orders them. It replaces
 * the timers and clocks of the thread when it is loaded, so it is imported before the package.
 *
 * Each event belongs to a host, a process of the shop or the database, or to none: the network and the service. A frozen process
 * runs no event until it thaws, a dead one none ever. All that reaches a process is an event of it, so it neither computes nor hears
 * anything meanwhile.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { Random } from './random.ts';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const DAY = 24 * 60 * MINUTE;

const START = Date.UTC(2026, 10, 1);

const MAX_EVENTS_AT_ONCE = 20_000;

/** What has a clock of its own. */
export const createHost = (name: string, rate = 1, ahead = 0) => ({
  name,
  isDead: false,
  frozenUntil: 0,
  /** When it hears what was sent to it while it was frozen: a machine that slept hears that only once it is sent again. */
  hearsAt: 0,
  /** For how long it was frozen, in milliseconds. */
  frozenFor: 0,
  /** For how much of that its machine slept: its monotonic clock stood still then. */
  slept: 0,
  /** How far its wall clock is ahead of the world, in milliseconds. It can be set, at last at `setAt`. */
  ahead,
  setAt: Number.NEGATIVE_INFINITY,
  /** How fast its clocks go. */
  rate,
});

export type Host = ReturnType<typeof createHost>;

/** What runs now. */
export const hosts = new AsyncLocalStorage<Host | undefined>();

let worlds = 0;

const toHex = (number: number, length: number) => number.toString(16).padStart(length, '0');

interface Event {
  /** A timer waits for time to pass on its host. A turn of the event loop ends after all else of its time. */
  readonly kind: 'work' | 'message' | 'timer' | 'turn';
  at: number;
  readonly run: () => void;
  readonly host: Host | undefined;
  /** Of a timer that repeats: how often, in milliseconds. */
  readonly every?: number | undefined;
}

/** When its host gets to it. */
function findTime({ kind, at, host }: Event): number {
  if (!host || host.frozenUntil <= at) return at;
  return kind === 'message' ? host.hearsAt : host.frozenUntil;
}

export class VirtualClock {
  now = START;
  readonly random: Random;
  readonly #order: Random;
  /** By the id of each. Events of one time come in any `order`. */
  readonly #events = new Map<number, Event & { readonly order: number }>();
  /** Something asks for timers again and again at one instant, and would block its process for ever. */
  isSpinning = false;
  /** When the last event was added, and how many were at that instant. */
  readonly #added = { at: 0, count: 0 };
  #ids = 0;
  #uuids = 0;
  readonly #world = ++worlds;

  constructor(seed: number) {
    this.random = Random.of(seed, 'jitter');
    this.#order = Random.of(seed, 'order');
  }

  /** Milliseconds since the world began. */
  get elapsed(): number {
    return this.now - START;
  }

  /** No two worlds share an id: the package still listens for the requests of processes that died in an earlier one. */
  createId = (): string => `${toHex(this.#world, 8)}-0000-4000-8000-${toHex(++this.#uuids, 12)}`;

  readWall = (host = hosts.getStore()): number =>
    Math.floor(host ? START + this.elapsed * host.rate + host.ahead : this.now);

  readMonotonic = (host = hosts.getStore()): number =>
    host ? (this.elapsed - host.slept) * host.rate : this.elapsed;

  /** For how long a process has run. What it does at the instant in which it freezes is not after it. */
  readAwake = (host: Host): number =>
    this.elapsed - host.frozenFor + Math.max(0, host.frozenUntil - this.now);

  /** Runs something of the world after a delay. */
  after(delay: number, run: () => void): void {
    this.#add({ kind: 'work', at: this.now + delay, run, host: undefined });
  }

  /** A message reaches a process. */
  deliver(host: Host | undefined, delay: number, run: () => void): void {
    this.#add({ kind: 'message', at: this.now + delay, run, host });
  }

  setTimer(run: () => void, delay: unknown, repeats: boolean): number {
    const host = hosts.getStore();
    const wait = Math.max(1, Number(delay) || 0) / (host?.rate ?? 1);
    return this.#add({ kind: 'timer', at: this.now + wait, run, host, every: repeats ? wait : undefined });
  }

  setImmediate(run: () => void): number {
    return this.#add({ kind: 'turn', at: this.now, run, host: hosts.getStore() });
  }

  #add(event: Event): number {
    if (this.#added.at !== this.now) Object.assign(this.#added, { at: this.now, count: 0 });
    this.isSpinning ||= ++this.#added.count > MAX_EVENTS_AT_ONCE;
    if (this.isSpinning) throw new Error('This never ends.');
    const order = (event.kind === 'turn' ? 1 : 0) + this.#order.next();
    this.#events.set(++this.#ids, { ...event, order });
    return this.#ids;
  }

  clear(id: unknown): void {
    if (id !== undefined && id !== null) this.#events.delete(Number(id));
  }

  /** Stops a process for a time. A machine that sleeps does not count it on its monotonic clock. */
  freeze(host: Host, duration: number, sleeps: boolean): void {
    host.frozenUntil = this.now + duration;
    host.hearsAt = host.frozenUntil + (sleeps ? this.random.between(0, 12_000) : 0);
    host.frozenFor += duration;
    if (!sleeps) return;
    host.slept += duration;
    for (const event of this.#events.values())
      if (event.host === host && event.kind === 'timer') event.at += duration;
  }

  /** The timers that a process has not cleared. */
  countTimersOf = (host: Host) =>
    [...this.#events.values()].filter((event) => event.host === host && event.kind === 'timer').length;

  /** Lets time pass, event by event, until a time, or until a condition holds. */
  async run(until: number, isOver = () => false): Promise<void> {
    await settle();
    while (!isOver()) {
      const event = this.#takeNext(until);
      if (!event) break;
      this.now = Math.max(this.now, event.at);
      hosts.run(event.host, event.run);
      await settle();
    }
    if (!isOver()) this.now = Math.max(this.now, until);
  }

  #takeNext(until: number): Event | undefined {
    let next: [number, Event & { order: number }] | undefined;
    for (const [id, event] of this.#events)
      if (event.host?.isDead) this.#events.delete(id);
      else {
        event.at = findTime(event);
        const isNext =
          !next || event.at < next[1].at || (event.at === next[1].at && event.order < next[1].order);
        if (isNext) next = [id, event];
      }
    if (!next || next[1].at > until) return undefined;
    const [id, event] = next;
    if (event.every === undefined) this.#events.delete(id);
    else this.#events.set(id, { ...event, at: Math.max(this.now, event.at) + event.every });
    return event;
  }
}

const realImmediate = setImmediate;

/** Runs all that needs no time: promises only, since every timer and every turn of the event loop is an event. */
const settle = () => new Promise<void>((resolve) => void realImmediate(resolve));

let clock = new VirtualClock(0);

/** From now on, the package goes by this clock. */
export function useClock(next: VirtualClock): void {
  clock = next;
}

const handle = (id: number) => ({ ref() {}, unref() {}, [Symbol.toPrimitive]: () => id });
const clear = (id: unknown) => clock.clear(id);
/** The package takes one with this getter for the runtime's own. */
const immediate = Object.defineProperty(
  (run: () => void) => handle(clock.setImmediate(run)),
  Symbol.for('nodejs.util.promisify.custom'),
  { get: () => undefined },
);
Object.assign(globalThis, {
  setTimeout: (run: () => void, delay?: number) => handle(clock.setTimer(run, delay, false)),
  setInterval: (run: () => void, delay?: number) => handle(clock.setTimer(run, delay, true)),
  setImmediate: immediate,
  clearTimeout: clear,
  clearInterval: clear,
  clearImmediate: clear,
});
Object.assign(Date, { now: () => clock.readWall() });
Object.assign(performance, { now: () => clock.readMonotonic() });
Object.assign(Math, { random: () => clock.random.next() });
Object.assign(crypto, { randomUUID: () => clock.createId() });
