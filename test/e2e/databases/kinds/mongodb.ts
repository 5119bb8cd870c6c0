import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { MongoClient } from 'mongodb';
import { journalIndexes, mongodbStore } from '../../../../examples/journals/mongodb.ts';
import { createJournal } from '../../../../src/journal/index.ts';
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
    const proxy = new OutageProxy(target);
    const place = new URL(target);
    place.host = `127.0.0.1:${await proxy.listen(0)}`;
    place.pathname = `/payments_${crypto.randomUUID().slice(0, 8)}`;
    place.searchParams.set('directConnection', 'true');
    return {
      place: place.href,
      takeAway: () => proxy.close(),
      bringBack: async () => void (await proxy.listen(Number(place.port))),
      async stop() {
        await withClient(place.href, (client) => client.db().dropDatabase());
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

/** Passes connections on, until it is closed. */
class OutageProxy {
  readonly #target: URL;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;

  constructor(target: URL) {
    this.#target = target;
  }

  async listen(port: number): Promise<number> {
    const { hostname, port: targetPort } = this.#target;
    const server = createServer((near) => {
      const far = connect(Number(targetPort || 27017), hostname);
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(socket);
        socket.on('error', () => other.destroy());
        socket.on('close', () => {
          this.#sockets.delete(socket);
          other.destroy();
        });
      }
      near.pipe(far);
      far.pipe(near);
    });
    this.#server = server;
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('The proxy has no port.');
    return address.port;
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}
