import { callStore } from './call-store.ts';
import { type KeyedRecord, parseListed } from './compare-and-swap.ts';
import { MAX_GROUP, queuePerStore } from './group-queue.ts';
import { listPage } from './list.ts';
import { namesReference } from './record.ts';
import { type JournalStore, MAX_KEYS_OF_REFERENCE } from './store.ts';

interface Lookup {
  readonly reference: string;
  readonly resolve: (found: Promise<readonly KeyedRecord[]>) => void;
}

const queueOf = /* @__PURE__ */ queuePerStore(sendGroup);

/**
 * Returns the records that name this transaction, in upper or lower case. One transaction settles one key. Each charge looks
 * its transaction up, so those that do at the same time share statements if the store can.
 *
 * @throws {ConfigurationError} if the store cannot list.
 */
export async function findByReference(store: JournalStore, reference: string): Promise<KeyedRecord[]> {
  const found = await (typeof store.listByReferences === 'function'
    ? lookUpTogether(store, reference.toLowerCase())
    : lookUpAlone(store, reference.toLowerCase()));
  return found.filter(({ record }) => namesReference(record, reference));
}

async function lookUpAlone(store: JournalStore, value: string): Promise<readonly KeyedRecord[]> {
  const query = { by: 'reference', value, after: null, limit: MAX_KEYS_OF_REFERENCE } as const;
  return parseListed(await listPage(store, query)).found;
}

function lookUpTogether(store: JournalStore, reference: string): Promise<readonly KeyedRecord[]> {
  return new Promise((resolve) => queueOf(store).add({ reference, resolve }));
}

function sendGroup(store: JournalStore, queued: readonly Lookup[]) {
  const group = queued.slice(0, MAX_GROUP);
  const references = [...new Set(group.map(({ reference }) => reference))];
  const found = callStore(
    store,
    'listed',
    async () => parseListed((await store.listByReferences?.(references)) ?? []).found,
  );
  for (const { resolve } of group) resolve(found);
  return {
    sent: found.then(
      () => {},
      () => {},
    ),
    left: queued.slice(MAX_GROUP),
  };
}
