/** Group commit: the writes of a store that come at the same time share statements, and one commit. */

import { MAX_GROUP, queuePerStore } from './group-queue.ts';
import type { JournalStore, RecordChange, RecordWrite } from './store.ts';

interface QueuedWrite extends RecordWrite {
  readonly resolve: (written: boolean | Promise<boolean>) => void;
}

const queueOf = /* @__PURE__ */ queuePerStore(sendGroup);

/** Writes as {@link JournalStore.write} does, through {@link JournalStore.writeAll} if the store has it and others write too. */
export async function writeGrouped(store: JournalStore, key: string, change: RecordChange): Promise<boolean> {
  if (typeof store.writeAll !== 'function') return await store.write(key, change);
  // A sweep records what several checks found at once: its first write does not go alone.
  return await new Promise((resolve) => queueOf(store).add({ key, change, resolve }, !change.mustCommit));
}

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
