import { MongoClient } from 'mongodb';
import { journalIndexes, mongodbStore } from '../../../../examples/journals/mongodb.ts';
import { createJournal } from '../../../../src/stores/index.ts';
import type { TestDatabase } from '../database.ts';

const { MONGO_URL } = process.env;
const COLLECTION = 'payments_journal';

/** The store of the examples, on a member of a replica set that is the primary. */
export const database: TestDatabase = {
  missing:
    MONGO_URL === undefined
      ? 'npm and Debian have no server of MongoDB. Set MONGO_URL to the primary of a replica set: mongodb://127.0.0.1:27017'
      : undefined,

  /** Each use has a database of its own. A proxy is taken away and brought back, since the server is not ours. */
  async start() {
    const target = new URL(MONGO_URL ?? '');
    target.pathname = `/payments_${crypto.randomUUID().slice(0, 8)}`;
    target.searchParams.set('directConnection', 'true');
    // Workers only connect.
    const { startProxy } = await import('../../../helpers/tcp-proxy.ts');
    const proxy = await startProxy(target, undefined, 27_017);
    return {
      place: proxy.url.href,
      takeAway: () => proxy.close(),
      bringBack: () => proxy.reopen(),
      async stop() {
        await withClient(proxy.url.href, (client) => client.db().dropDatabase());
        await proxy.close();
      },
    };
  },

  async prepare(place) {
    await withClient(place, (client) => client.db().collection(COLLECTION).createIndexes(journalIndexes));
  },

  async open(place, options, collection = COLLECTION) {
    const client = await openClient(place);
    return {
      journal: createJournal(mongodbStore(client.db(), collection), options),
      close: () => client.close(),
    };
  },

  async dump(place) {
    return withClient(place, async (client) =>
      JSON.stringify(await client.db().collection(COLLECTION).find().toArray()),
    );
  },
};

/** A database that is away is an error within the time that a charge waits for its journal. */
const openClient = (place: string) => MongoClient.connect(place, { serverSelectionTimeoutMS: 3_000 });

async function withClient<Result>(
  place: string,
  use: (client: MongoClient) => Promise<Result>,
): Promise<Result> {
  const client = await openClient(place);
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}
