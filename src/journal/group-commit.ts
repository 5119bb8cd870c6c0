/**
 * Group commit: while a write of a store is under way, those that come meanwhile travel together in the next one. A write
 * that comes alone waits for nothing.
 */

import { nextTurn } from '../timing.ts';
import type { JournalStore, RecordChange, RecordWrite } from './store.ts';

/** The most writes that travel together. SQLite blocks the event loop meanwhile. */
const MAX_GROUP = 100;

/** How long others wait for a group, in milliseconds: it might wait for a lock, or its connection might be dead. */
const MAX_HOLD = 100;

const queues = new WeakMap<JournalStore, WriteQueue>();

/** Writes as {@link JournalStore.write} does, through {@link JournalStore.writeAll} if the store has it and others write too. */
export async function writeGrouped(store: JournalStore, key: string, change: RecordChange): Promise<boolean> {
  if (typeof store.writeAll !== 'function') return await store.write(key, change);
  const queue = queues.get(store) ?? new WriteQueue(store);
  queues.set(store, queue);
  return await queue.write({ key, change });
}

interface QueuedWrite extends RecordWrite {
  readonly resolve: (written: boolean | Promise<boolean>) => void;
}

class WriteQueue {
  readonly #store: JournalStore;
  #queued: QueuedWrite[] = [];
  /** The write of the group that the queued writes wait for. */
  #current: Promise<void> | undefined;
  #hold: ReturnType<typeof setTimeout> | undefined;

  constructor(store: JournalStore) {
    this.#store = store;
  }

  write(write: RecordWrite): Promise<boolean> {
    return new Promise((resolve) => {
      this.#queued.push({ ...write, resolve });
      if (this.#current) this.#boundHold();
      else if (write.change.mustCommit) this.#writeNext();
      else if (this.#queued.length === 1) void this.#writeSoon();
    });
  }

  /** A sweep records what several checks found at once: its first write does not go alone. */
  async #writeSoon(): Promise<void> {
    await null;
    if (!this.#current) this.#writeNext();
  }

  /** Writes the next group without the current one if that hangs. */
  #boundHold(): void {
    this.#hold ??= setTimeout(() => this.#writeNext(), MAX_HOLD);
  }

  #writeNext(): void {
    clearTimeout(this.#hold);
    this.#hold = undefined;
    const { group, repeated } = this.#takeGroup();
    const current = this.#writeGroup(group);
    this.#current = current;
    // One that waited for the write of its key before would only find that it is too late.
    for (const write of repeated) write.resolve(this.#writeAlone(write));
    if (this.#queued.length > 0) this.#boundHold();
    // SQLite is done at once: a group of it ends with the turn of the event loop, so that others can come meanwhile.
    void Promise.all([current, nextTurn()]).then(() => this.#end(current));
  }

  #end(current: Promise<void>): void {
    if (this.#current !== current) return;
    this.#current = undefined;
    if (this.#queued.length > 0) this.#writeNext();
  }

  /**
   * Takes the writes that can travel with the first one: each of another key, and all as a part of one transaction.
   * `repeated` are those of a key that the group has.
   */
  #takeGroup(): { group: readonly QueuedWrite[]; repeated: readonly QueuedWrite[] } {
    const group = new Map<string, QueuedWrite>();
    const repeated: QueuedWrite[] = [];
    const left: QueuedWrite[] = [];
    for (const write of this.#queued) {
      const isLike = write.change.mustCommit === this.#queued[0]?.change.mustCommit;
      if (!isLike || group.size === MAX_GROUP) left.push(write);
      else if (group.has(write.key)) repeated.push(write);
      else group.set(write.key, write);
    }
    this.#queued = left;
    return { group: [...group.values()], repeated };
  }

  /** Never rejects: each write has an error of its own. */
  async #writeGroup(group: readonly QueuedWrite[]): Promise<void> {
    const [first, second] = group;
    if (first && !second) {
      const written = this.#writeAlone(first);
      first.resolve(written);
      await written.catch(() => {});
      return;
    }
    try {
      const results = await this.#store.writeAll?.(group.map(({ key, change }) => ({ key, change })));
      for (const [index, write] of group.entries()) {
        const written = results?.[index];
        write.resolve(typeof written === 'boolean' ? written : this.#writeAgain(write));
      }
    } catch (error) {
      for (const write of group) write.resolve(this.#writeAgain(write, error));
    }
  }

  async #writeAlone({ key, change }: RecordWrite): Promise<boolean> {
    return (await this.#store.write(key, change)) === true;
  }

  /** Writes alone what a group might have written: the record then has the version of this write, which no other has. */
  async #writeAgain(write: RecordWrite, groupError?: unknown): Promise<boolean> {
    const written = await this.#writeAlone(write).catch((error: unknown) => {
      // A transaction of the merchant failed as a whole with the group, and the merchant needs the error that it failed with.
      throw write.change.mustCommit ? error : (groupError ?? error);
    });
    return written || (await this.#store.read(write.key))?.version === write.change.version;
  }
}
