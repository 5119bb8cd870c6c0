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

const START = Date.UTC(2026, 10, 1);

const MAX_EVENTS_AT_ONCE = 20_000;

/** What has a clock of its own. */
export interface Host {
  readonly name: string;
  isDead: boolean;
  frozenUntil: number;
  /** When it hears what was sent to it while it was frozen: a machine that slept hears that only once it is sent again. */
  hearsAt: number;
  /** How far its wall clock is ahead of the world, in milliseconds. It can be set. */
  ahead: number;
  /** How fast its clocks go. */
  readonly rate: number;
  /** For how long it was frozen, in milliseconds. */
  frozenFor: number;
  /** For how much of that its machine slept: its monotonic clock stood still then. */
  slept: number;
}

export const createHost = (name: string, rate = 1, ahead = 0): Host => ({
  name,
  isDead: false,
  frozenUntil: 0,
  hearsAt: 0,
  frozenFor: 0,
  ahead,
  rate,
  slept: 0,
});

/** What runs now. */
export const hosts = new AsyncLocalStorage<Host | undefined>();

let worlds = 0;

const toHex = (number: number, length: number) => number.toString(16).padStart(length, '0');

interface Event {
  readonly id: number;
  at: number;
  /** Events of one time come in any order, but a turn of the event loop ends after all of them. */
  readonly order: number;
  readonly run: () => void;
  readonly host: Host | undefined;
  readonly every: number | undefined;
  /** It waits for time to pass on its host. */
  readonly isTimer: boolean;
  readonly isMessage: boolean;
}

/** When its host gets to it. */
function findTime({ at, host, isMessage }: Event): number {
  if (!host || host.frozenUntil <= at) return at;
  return isMessage ? host.hearsAt : host.frozenUntil;
}

export class VirtualClock {
  now = START;
  readonly random: Random;
  readonly #order: Random;
  readonly #events = new Map<number, Event>();
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

  /** For how long a process has run. */
  readAwake = (host: Host): number => this.elapsed - host.frozenFor;

  /** Runs something of the world after a delay. */
  after(delay: number, run: () => void): void {
    this.#add({ at: this.now + delay, run, host: undefined });
  }

  /** A message reaches a process. */
  deliver(host: Host | undefined, delay: number, run: () => void): void {
    this.#add({ at: this.now + delay, run, host, isMessage: true });
  }

  setTimer(run: () => void, delay: unknown, repeats: boolean): number {
    const host = hosts.getStore();
    const wait = Math.max(1, Number(delay) || 0) / (host?.rate ?? 1);
    return this.#add({ at: this.now + wait, run, host, isTimer: true, every: repeats ? wait : undefined });
  }

  setImmediate(run: () => void): number {
    return this.#add({ at: this.now, run, host: hosts.getStore(), isTurn: true });
  }

  #add(event: Pick<Event, 'at' | 'run' | 'host'> & Partial<Event> & { isTurn?: boolean }): number {
    const { at, run, host, every, isTimer = false, isMessage = false, isTurn = false } = event;
    const id = ++this.#ids;
    if (this.#added.at !== this.now) Object.assign(this.#added, { at: this.now, count: 0 });
    this.isSpinning ||= ++this.#added.count > MAX_EVENTS_AT_ONCE;
    if (this.isSpinning) throw new Error('This never ends.');
    const order = (isTurn ? 1 : 0) + this.#order.next();
    this.#events.set(id, { id, at, order, run, host, every, isTimer, isMessage });
    return id;
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
    for (const event of this.#events.values()) if (event.host === host && event.isTimer) event.at += duration;
  }

  /** The timers that a process has not cleared. */
  countTimersOf = (host: Host) =>
    [...this.#events.values()].filter((event) => event.host === host && event.isTimer).length;

  /** Lets time pass, event by event, until a time, or until a condition holds. */
  async run(until: number, isOver = () => false): Promise<void> {
    await settle();
    while (!isOver()) {
      const event = this.#takeNext(until);
      if (!event) break;
      this.now = Math.max(this.now, event.at);
      if (event.every !== undefined) this.#events.set(event.id, { ...event, at: this.now + event.every });
      hosts.run(event.host, event.run);
      await settle();
    }
    if (!isOver()) this.now = Math.max(this.now, until);
  }

  #takeNext(until: number): Event | undefined {
    let next: Event | undefined;
    for (const event of this.#events.values()) {
      const { host } = event;
      if (host?.isDead) this.#events.delete(event.id);
      else {
        event.at = findTime(event);
        if (!next || event.at < next.at || (event.at === next.at && event.order < next.order)) next = event;
      }
    }
    if (!next || next.at > until) return undefined;
    this.#events.delete(next.id);
    return next;
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

class Handle {
  readonly #id: number;

  constructor(id: number) {
    this.#id = id;
  }

  ref() {}
  unref() {}
  [Symbol.toPrimitive] = () => this.#id;
}

const handle = (id: number) => new Handle(id);
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
