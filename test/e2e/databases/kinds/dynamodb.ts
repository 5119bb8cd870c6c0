import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { dynamodbStore } from '../../../../examples/journals/dynamodb.ts';
import { journalTable } from '../../../../examples/journals/dynamodb-table.ts';
import { createJournal } from '../../../../src/stores/index.ts';
import { startRestartable } from '../../../helpers/databases.ts';
import { findFreePort } from '../../../helpers/free-port.ts';
import { createTempFolder } from '../../../helpers/temp-folder.ts';
import type { TestDatabase } from '../database.ts';

export const TABLE = 'payments-journal';
const program = fileURLToPath(new URL('../programs/dynalite.ts', import.meta.url));

/** The store of the examples, on dynalite: the interface of DynamoDB on LevelDB. */
export const database: TestDatabase = {
  async start() {
    const port = await findFreePort();
    const { path: folder } = createTempFolder();
    const server = await startRestartable({
      name: 'dynalite',
      start: () => spawn(process.execPath, [program, String(port), folder]),
      readyLine: 'dynalite is ready',
      signal: 'SIGTERM',
      folder,
    });
    return { place: `http://127.0.0.1:${port}`, ...server };
  },

  async prepare(place) {
    const client = createDynamoDB(place);
    await client.createTable({ ...journalTable, TableName: TABLE });
    await untilUsable(client, TABLE);
    client.destroy();
  },

  async open(place, options, table) {
    const client = createDynamoDB(place);
    if (table !== undefined) {
      // Another handle of the case might have made it.
      await client.createTable({ ...journalTable, TableName: table }).catch((error: unknown) => {
        if (!String(error).includes('ResourceInUse')) throw error;
      });
      await untilUsable(client, table);
    }
    const journal = createJournal(dynamodbStore(client, table ?? TABLE), options);
    return { journal, close: async () => client.destroy() };
  },

  async dump(place) {
    const client = createDynamoDB(place);
    const { Items } = await client.scan({ TableName: TABLE });
    client.destroy();
    return JSON.stringify(Items);
  },
};

/** A table is not usable as soon as it is made. */
export async function untilUsable(client: DynamoDB, table: string): Promise<void> {
  for (;;) {
    const { Table } = await client.describeTable({ TableName: table });
    if (Table?.TableStatus === 'ACTIVE') return;
    await sleep(20);
  }
}

export function createDynamoDB(endpoint: string): DynamoDB {
  return new DynamoDB({
    endpoint,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
}
