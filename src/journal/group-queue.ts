import { nextTurn } from '../support/timing.ts';

/** The most that travels together. SQLite blocks the event loop meanwhile. */
export const MAX_GROUP = 100;

/** How long others wait for a group, in milliseconds: it might wait for a lock, or its connection might be dead. */
const MAX_HOLD = 100;

/** A group on its way: `sent` never rejects. `left` are those that wait for the next group. */
interface SentGroup<Item> {
  readonly sent: Promise<void>;
  readonly left: Item[];
}

/**
 * While a statement of a store is under way, what comes meanwhile travels together in the next one. What comes alone waits
 * for nothing.
 */
export class GroupQueue<Item> {
  readonly #send: (queued: readonly Item[]) => SentGroup<Item>;
  #queued: Item[] = [];
  /** The group that the queued ones wait for. */
  #current: Promise<void> | undefined;
  #hold: ReturnType<typeof setTimeout> | undefined;

  /** `send` takes a group from the start of the queue, and sends it. */
  constructor(send: (queued: readonly Item[]) => SentGroup<Item>) {
    this.#send = send;
  }

  /** With `canWait`, the first one does not go alone, but with those that come at once after it. */
  add(item: Item, canWait = false): void {
    this.#queued.push(item);
    if (this.#current) this.#boundHold();
    else if (!canWait) this.#sendNext();
    else if (this.#queued.length === 1) void this.#sendSoon();
  }

  async #sendSoon(): Promise<void> {
    await null;
    if (!this.#current) this.#sendNext();
  }

  /** Sends the next group without the end of the current one, if that hangs. */
  #boundHold(): void {
    this.#hold ??= setTimeout(() => this.#sendNext(), MAX_HOLD);
  }

  #sendNext(): void {
    clearTimeout(this.#hold);
    this.#hold = undefined;
    const { sent, left } = this.#send(this.#queued);
    this.#queued = left;
    this.#current = sent;
    if (left.length > 0) this.#boundHold();
    // SQLite is done at once: a group of it ends with the turn of the event loop, so that others can come meanwhile.
    void Promise.all([sent, nextTurn()]).then(() => this.#end(sent));
  }

  #end(sent: Promise<void>): void {
    if (this.#current !== sent) return;
    this.#current = undefined;
    if (this.#queued.length > 0) this.#sendNext();
  }
}

/** Returns what gives each store a queue of its own. */
export function queuePerStore<Store extends object, Item>(
  send: (store: Store, queued: readonly Item[]) => SentGroup<Item>,
): (store: Store) => GroupQueue<Item> {
  const queues = new WeakMap<Store, GroupQueue<Item>>();
  return (store) => {
    const queue = queues.get(store) ?? new GroupQueue((queued) => send(store, queued));
    queues.set(store, queue);
    return queue;
  };
}
