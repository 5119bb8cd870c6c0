/**
 * Runs all cases of `journalConformance` on a store, in a table of its own: `node check-store.ts mongodb` or `dynamodb`.
 * Run it again when you have changed your copy of a store.
 */
import { DynamoDB, waitUntilTableExists } from '@aws-sdk/client-dynamodb';
import { MongoClient } from 'mongodb';
import type { JournalStore } from 'payment-collection-client/journal';
import { journalConformance } from 'payment-collection-client/testing';
import { dynamodbStore } from './dynamodb.ts';
import { journalTable } from './dynamodb-table.ts';
import { journalIndexes, mongodbStore } from './mongodb.ts';

interface Stores {
  /** Opens a store on a table of its own. It is called several times for each. */
  open(table: string): Promise<JournalStore>;
  /** Deletes the tables, and closes the connection. */
  close(): Promise<void>;
}

const databases: Record<string, () => Promise<Stores>> = {
  async mongodb() {
    const client = await MongoClient.connect(process.env.MONGO_URL ?? 'mongodb://127.0.0.1:27017/check');
    const made = new Set<string>();
    return {
      async open(table) {
        made.add(table);
        await client.db().collection(table).createIndexes(journalIndexes);
        return mongodbStore(client.db(), table);
      },
      async close() {
        for (const table of made) await client.db().collection(table).drop();
        await client.close();
      },
    };
  },

  /** Region, credentials and AWS_ENDPOINT_URL_DYNAMODB are read from the environment. */
  async dynamodb() {
    const client = new DynamoDB();
    const made = new Map<string, Promise<unknown>>();
    const make = async (TableName: string) => {
      await client.createTable({ ...journalTable, TableName });
      await waitUntilTableExists({ client, maxWaitTime: 60 }, { TableName });
    };
    return {
      async open(table) {
        if (!made.has(table)) made.set(table, make(table));
        await made.get(table);
        return dynamodbStore(client, table);
      },
      async close() {
        for (const TableName of made.keys()) await client.deleteTable({ TableName });
        client.destroy();
      },
    };
  },
};

const connect = databases[process.argv[2] ?? ''];
if (!connect) throw new Error(`Name a store: ${Object.keys(databases).join(' or ')}.`);
const { open, close } = await connect();
try {
  for (const { name, run } of journalConformance(open)) {
    try {
      await run();
      console.log('passed', name);
    } catch (error) {
      console.log('FAILED', name, error);
      process.exitCode = 1;
    }
  }
} finally {
  await close();
}
