import { type Document, MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { mongodbStore } from '../../../examples/journals/mongodb.ts';
import { catchError } from '../../helpers/service.ts';
import { testConformance } from '../../helpers/store-suite.ts';
import { change, claimKeys, listAll, listAttention } from '../../helpers/store-writes.ts';
import { type MongoStandIn, startMongoStandIn } from './mongodb-stand-in.ts';

describe('the store on MongoDB, with a stand-in for its server', () => {
  let standIn: MongoStandIn;
  let own: MongoClient;
  beforeAll(async () => {
    standIn = await startMongoStandIn();
    own = await MongoClient.connect(standIn.url);
  });
  afterAll(async () => {
    await own?.close();
    await standIn?.stop();
  });

  testConformance((storage) => mongodbStore(own.db(), storage));

  const createStore = () => mongodbStore(own.db());
  const connect = async (options: string) => {
    const client = await MongoClient.connect(`${standIn.url}?${options}`);
    onTestFinished(() => client.close());
    return client.db();
  };
  /** Runs work, and returns the commands that it sent. */
  const recordCommands = async (work: () => Promise<unknown>): Promise<Document[]> => {
    const { commands } = standIn;
    const before = commands.length;
    await work();
    return commands.slice(before);
  };
  const weak = 'w=1&journal=false&readPreference=secondaryPreferred&readConcernLevel=available';

  test('ask for a durable write and a linearizable read, whatever the URL says', async () => {
    const store = mongodbStore(await connect(weak));
    const commands = await recordCommands(async () => {
      await store.write('order-durable', change);
      await store.write('order-durable', { ...change, expected: 'v1', version: 'v2' });
      await store.read('order-durable');
      await store.claimDue?.({ ...claimKeys, limit: 1 });
    });
    const names = commands.map((command) => Object.keys(command)[0]);
    expect(names).toEqual(['update', 'update', 'find', 'findAndModify']);
    for (const command of commands) {
      expect(command.$readPreference?.mode ?? 'primary').toBe('primary');
      if ('find' in command)
        expect(command).toMatchObject({ readConcern: { level: 'linearizable' }, maxTimeMS: 10_000 });
      else expect(command.writeConcern).toEqual({ w: 'majority', j: true });
    }
  });

  test('are never part of a transaction that is open', async () => {
    const store = createStore();
    const commands = await recordCommands(() =>
      own.withSession((session) =>
        session.withTransaction(async () => {
          await store.write('order-in-transaction', change);
          await store.read('order-in-transaction');
        }),
      ),
    );
    expect(commands).toHaveLength(2);
    for (const command of commands) expect(command).not.toHaveProperty('startTransaction');
  });

  test('confirm that the server is the primary before it lists', async () => {
    const store = createStore();
    const [confirm, list, ...others] = await recordCommands(async () => store.list?.(listAttention));
    expect(confirm).toMatchObject({ filter: { _id: '' }, readConcern: { level: 'linearizable' } });
    expect(list).toMatchObject({ filter: { attentionAt: { $lte: expect.any(Number) } } });
    expect(list?.$readPreference?.mode ?? 'primary').toBe('primary');
    expect(others).toEqual([]);
  });

  test('compare keys byte by byte, whatever the collation of the collection', async () => {
    const store = createStore();
    const commands = await recordCommands(async () => {
      await store.write('order-collated', change);
      await store.read('order-collated');
      await store.list?.(listAll);
    });
    for (const command of commands)
      expect(command.collation ?? command.updates[0].collation).toEqual({ locale: 'simple' });
  });

  test('write once if the reply is lost', async () => {
    const store = mongodbStore(await connect('retryWrites=true'), 'retried');
    standIn.loseReplyTo('update');
    expect(await store.write('order 17', change)).toBe(true);
    expect(await store.write('order 17', { ...change, version: 'v2' })).toBe(false);
    expect((await store.read('order 17')).record?.version).toBe('v1');
  });

  test('reject if the reply is lost and retryWrites is off', async () => {
    const store = mongodbStore(await connect('retryWrites=false'), 'not retried');
    standIn.loseReplyTo('update');
    expect(await catchError(store.write('order 17', change))).toHaveProperty('name', 'MongoNetworkError');
    expect((await store.read('order 17')).record?.version).toBe('v1');
  });

  test('store a text that begins with a dollar sign as it is', async () => {
    const store = createStore();
    await store.write('order-dollar', { ...change, text: '$version' });
    expect((await store.read('order-dollar')).record?.text).toBe('$version');
  });
});
