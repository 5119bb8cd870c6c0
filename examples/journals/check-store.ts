/**
 * Runs all cases of `journalConformance` on a store, in a table of its own: `node check-store.ts mongodb` or `dynamodb`.
 * Run it again when you have changed your copy of a store.
 */
import { randomUUID } from 'node:crypto';
import { DynamoDB, waitUntilTableExists } from '@aws-sdk/client-dynamodb';
import { MongoClient } from 'mongodb';
import { createJournal, type JournalStore } from 'payment-collection-client/journal';
import { journalConformance } from 'payment-collection-client/testing';
import { dynamodbStore } from './dynamodb.ts';
import { journalTable } from './dynamodb-table.ts';
import { journalIndexes, mongodbStore } from './mongodb.ts';

interface OpenStore {
  readonly store: JournalStore;
  /** Deletes the table, and closes the connection. */
  close(): Promise<void>;
}

const name = `journal-check-${randomUUID().slice(0, 8)}`;

const stores: Record<string, () => Promise<OpenStore>> = {
  async mongodb() {
    const client = await MongoClient.connect(process.env.MONGO_URL ?? 'mongodb://127.0.0.1:27017/check');
    const collection = client.db().collection(name);
    await collection.createIndexes(journalIndexes);
    return {
      store: mongodbStore(client.db(), name),
      async close() {
        await collection.drop();
        await client.close();
      },
    };
  },

  /** Region, credentials and AWS_ENDPOINT_URL_DYNAMODB are read from the environment. */
  async dynamodb() {
    const client = new DynamoDB();
    await client.createTable({ ...journalTable, TableName: name });
    await waitUntilTableExists({ client, maxWaitTime: 60 }, { TableName: name });
    return {
      store: dynamodbStore(client, name),
      async close() {
        await client.deleteTable({ TableName: name });
        client.destroy();
      },
    };
  },
};

const open = stores[process.argv[2] ?? ''];
if (!open) throw new Error(`Name a store: ${Object.keys(stores).join(' or ')}.`);
const { store, close } = await open();
try {
  const cases = journalConformance((options) => createJournal(store, options));
  const results = await Promise.allSettled(cases.map(({ run }) => run()));
  for (const [index, result] of results.entries()) {
    const isKept = result.status === 'fulfilled';
    console.log(isKept ? 'passed' : 'FAILED', cases[index]?.name, isKept ? '' : result.reason);
    if (!isKept) process.exitCode = 1;
  }
} finally {
  await close();
}
