/** Group commit: the writes of a store that come at the same time share statements, and one commit. */

import { nextTurn } from '../support/timing.ts';
import type { JournalStore, RecordChange, RecordWrite } from './store.ts';

/** The most that travels together. SQLite blocks the event loop meanwhile. */
const MAX_GROUP = 100;

/** How long others wait for a group, in milliseconds: it might wait for a lock, or its connection might be dead. */
const MAX_HOLD = 100;

interface QueuedWrite extends RecordWrite {
  readonly resolve: (written: boolean | Promise<boolean>) => void;
}

const queues = /* @__PURE__ */ new WeakMap<JournalStore, GroupQueue>();

/** Writes as {@link JournalStore.write} does, through {@link JournalStore.writeAll} if the store has it and others write too. */
export async function writeGrouped(store: JournalStore, key: string, change: RecordChange): Promise<boolean> {
  if (typeof store.writeAll !== 'function') return await store.write(key, change);
  // A sweep records what several checks found at once: its first write does not go alone.
  return await new Promise((resolve) => {
    const queue = queues.get(store) ?? new GroupQueue(store);
    queues.set(store, queue);
    queue.add({ key, change, resolve }, !change.mustCommit);
  });
}

/**
 * While a statement of a store is under way, what comes meanwhile travels together in the next one. What comes alone waits
 * for nothing.
 */
class GroupQueue {
  readonly #store: JournalStore;
  #queued: QueuedWrite[] = [];
  #current: Promise<void> | undefined;
  #hold: ReturnType<typeof setTimeout> | undefined;

  constructor(store: JournalStore) {
    this.#store = store;
  }

  /** With `canWait`, the first one does not go alone, but with those that come at once after it. */
  add(write: QueuedWrite, canWait: boolean): void {
    this.#queued.push(write);
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
    const { sent, left } = sendGroup(this.#store, this.#queued);
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

/** Sends a group from the start of a queue. `sent` never rejects. `left` are those that wait for the next group. */
function sendGroup(store: JournalStore, queued: readonly QueuedWrite[]) {
  const { group, repeated, left } = takeGroup(queued);
  const sent = writeGroup(store, group);
  // One that waited for the write of its key before would only find that it is too late.
  for (const write of repeated) write.resolve(writeOne(store, write));
  return { sent, left };
}

/**
 * Takes the writes that can travel with the first one: each of another key, and all as a part of one transaction.
 * `repeated` are those of a key that the group has.
 */
function takeGroup(queued: readonly QueuedWrite[]) {
  const group = new Map<string, QueuedWrite>();
  const repeated: QueuedWrite[] = [];
  const left: QueuedWrite[] = [];
  for (const write of queued) {
    const isLike = write.change.mustCommit === queued[0]?.change.mustCommit;
    if (!isLike || group.size === MAX_GROUP) left.push(write);
    else if (group.has(write.key)) repeated.push(write);
    else group.set(write.key, write);
  }
  return { group: [...group.values()], repeated, left };
}

/** Never rejects: each write has an error of its own. */
async function writeGroup(store: JournalStore, group: readonly QueuedWrite[]): Promise<void> {
  const [first, second] = group;
  if (first && !second) {
    const written = writeOne(store, first);
    first.resolve(written);
    await written.catch(() => {});
    return;
  }
  try {
    const results = await store.writeAll?.(group.map(({ key, change }) => ({ key, change })));
    for (const [index, write] of group.entries()) {
      const written = results?.[index];
      write.resolve(typeof written === 'boolean' ? written : writeAfterGroup(store, write));
    }
  } catch (error) {
    for (const write of group) write.resolve(writeAfterGroup(store, write, error));
  }
}

async function writeOne(store: JournalStore, { key, change }: RecordWrite): Promise<boolean> {
  return (await store.write(key, change)) === true;
}

/** Writes alone what a group might have written: the record then has the version of this write, which no other has. */
async function writeAfterGroup(
  store: JournalStore,
  write: RecordWrite,
  groupError?: unknown,
): Promise<boolean> {
  const written = await writeOne(store, write).catch((error: unknown) => {
    // A transaction of the merchant failed as a whole with the group, and the merchant needs the error that it failed with.
    throw write.change.mustCommit ? error : (groupError ?? error);
  });
  return written || (await store.read(write.key)).record?.version === write.change.version;
}
