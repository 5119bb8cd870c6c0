/**
 * Stands in for MongoDB, of which npm and Debian have no server. It speaks MongoDB's protocol with the driver, and mingo
 * evaluates filters, updates and projections. It shows what a store sends, and whether the statements do what they should.
 * It shows nothing about a real server: it is one process, without a disk, replicas, indexes or concurrency.
 */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { Aggregator, Query } from 'mingo';
import { BSON, type Document } from 'mongodb';
import { startListening } from '../../helpers/start-listening.ts';

export interface MongoStandIn {
  readonly url: string;
  /** All commands but those of the driver itself, the oldest first. */
  readonly commands: readonly Document[];
  /** Executes the next command of a name, and closes the connection instead of the reply. */
  loseReplyTo(name: string): void;
  stop(): Promise<void>;
}

/** The driver sends its first message in the old format. */
const [OP_REPLY, OP_QUERY, OP_MSG] = [1, 2004, 2013];
/** Of a message and its flags, in bytes. */
const [HEADER, FLAGS] = [16, 4];
const DUPLICATE_KEY = 11000;

export async function startMongoStandIn(): Promise<MongoStandIn> {
  const commands: Document[] = [];
  const collections = new Map<string, Document[]>();
  /** As a real server does, it executes a write once that the driver repeats. */
  const replies = new Map<string, Document>();
  const lost = new Set<string>();
  const sockets = new Set<Socket>();

  const execute = (name: string, command: Document): Document => {
    if (['hello', 'ismaster'].includes(name)) return describeServer(address);
    if (['ping', 'endSessions', 'create', 'createIndexes', 'drop', 'dropDatabase'].includes(name)) return {};
    commands.push(command);
    const { lsid, txnNumber } = command;
    const id = txnNumber === undefined ? undefined : `${lsid.id} ${txnNumber}`;
    const collection = `${command.$db}.${command[name]}`;
    const documents = collections.get(collection) ?? [];
    collections.set(collection, documents);
    const reply = (id !== undefined && replies.get(id)) || executeOn(documents, name, command);
    if (id !== undefined) replies.set(id, reply);
    return reply;
  };

  const server = createServer((socket) => {
    let received = Buffer.alloc(0);
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= HEADER && received.length >= received.readInt32LE(0)) {
        const message = received.subarray(0, received.readInt32LE(0));
        received = received.subarray(message.length);
        const command = parseCommand(message);
        const [name = ''] = Object.keys(command);
        const reply = { ok: 1, ...execute(name, command) };
        if (lost.delete(name)) socket.destroy();
        else socket.write(formatReply(message, reply));
      }
    });
  });
  const { port } = await startListening(server);
  const address = `127.0.0.1:${port}`;

  return {
    url: `mongodb://${address}/shop`,
    commands,
    loseReplyTo: (name) => void lost.add(name),
    async stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

/** Describes a replica set of one member. */
function describeServer(address: string): Document {
  const member = {
    isWritablePrimary: true,
    setName: 'stand-in',
    setVersion: 1,
    hosts: [address],
    me: address,
  };
  const limits = { maxBsonObjectSize: 2 ** 24, maxMessageSizeBytes: 48_000_000, maxWriteBatchSize: 100_000 };
  const versions = { minWireVersion: 0, maxWireVersion: 25, logicalSessionTimeoutMinutes: 30 };
  return { helloOk: true, localTime: new Date(), ...member, ...limits, ...versions };
}

function executeOn(documents: Document[], name: string, command: Document): Document {
  const toCursor = (firstBatch: Document[]) => ({
    cursor: { id: BSON.Long.ZERO, ns: `shop.${command[name]}`, firstBatch },
  });
  switch (name) {
    case 'find': {
      const { filter, sort, limit, projection } = command;
      return toCursor(project(findAll(documents, filter, sort).slice(0, limit), projection));
    }
    case 'aggregate':
      return toCursor(new Aggregator(command.pipeline).run(documents));
    case 'update':
      return updateOne(documents, command.updates[0]);
    case 'delete': {
      const found = findAll(documents, command.deletes[0].q, undefined);
      for (const document of found) documents.splice(documents.indexOf(document), 1);
      return { n: found.length };
    }
    case 'findAndModify': {
      const [found] = findAll(documents, command.query, command.sort);
      if (!found) return { value: null };
      const [value] = project([found], command.fields);
      replace(documents, found, command.update);
      return { value };
    }
    default:
      throw new Error(`The stand-in has no command ${name}.`);
  }
}

function findAll(documents: Document[], filter: Document, sort: Document | undefined): Document[] {
  const query = new Query<Document>(filter);
  const found = documents.filter((document) => query.test(document));
  return sort ? new Aggregator([{ $sort: Object.fromEntries(Object.entries(sort)) }]).run(found) : found;
}

function project(documents: Document[], projection: Document | undefined): Document[] {
  return projection ? new Aggregator([{ $project: projection }]).run(documents) : documents;
}

function replace(documents: Document[], found: Document, pipeline: Document[]): void {
  const [changed] = new Aggregator(pipeline).run<Document>([found]);
  const index = documents.findIndex(({ _id }) => _id === found._id);
  if (changed) documents.splice(index < 0 ? documents.length : index, 1, changed);
}

function updateOne(documents: Document[], { q, u, upsert }: Document): Document {
  const [found] = findAll(documents, q, undefined);
  if (!found && upsert !== true) return { n: 0, nModified: 0 };
  if (!found && documents.some(({ _id }) => _id === q._id))
    return { n: 0, writeErrors: [{ index: 0, code: DUPLICATE_KEY, errmsg: 'E11000 duplicate key error' }] };
  replace(documents, found ?? { _id: q._id }, u);
  return found ? { n: 1, nModified: 1 } : { n: 1, nModified: 0, upserted: [{ index: 0, _id: q._id }] };
}

/** A message has one document, and might have a list of more, such as `updates`. */
function parseCommand(message: Buffer): Document {
  // Its document comes after flags, a name that ends with a zero, and two numbers.
  if (message.readInt32LE(12) === OP_QUERY)
    return BSON.deserialize(message.subarray(message.indexOf(0, HEADER + FLAGS) + 9));
  let command: Document = {};
  for (let offset = HEADER + FLAGS; offset < message.length; ) {
    const isList = message[offset] === 1;
    const start = offset + 1;
    const size = message.readInt32LE(start);
    offset = start + size;
    if (!isList) {
      command = { ...BSON.deserialize(message.subarray(start, offset)), ...command };
      continue;
    }
    const nameEnd = message.indexOf(0, start + 4);
    const list: Document[] = [];
    for (let at = nameEnd + 1; at < offset; at += message.readInt32LE(at))
      list.push(BSON.deserialize(message.subarray(at, at + message.readInt32LE(at))));
    command[message.toString('utf8', start + 4, nameEnd)] = list;
  }
  return command;
}

function formatReply(request: Buffer, reply: Document): Buffer {
  const body = BSON.serialize(reply);
  const isOld = request.readInt32LE(12) === OP_QUERY;
  const head = Buffer.alloc(HEADER + FLAGS + (isOld ? 16 : 1));
  head.writeInt32LE(head.length + body.length, 0);
  head.writeInt32LE(request.readInt32LE(4), 8);
  head.writeInt32LE(isOld ? OP_REPLY : OP_MSG, 12);
  // How many documents there are.
  if (isOld) head.writeInt32LE(1, 32);
  return Buffer.concat([head, body]);
}
