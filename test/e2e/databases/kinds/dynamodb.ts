import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { dynamodbStore } from '../../../../examples/journals/dynamodb.ts';
import { journalTable } from '../../../../examples/journals/dynamodb-table.ts';
import { createJournal } from '../../../../src/journal/index.ts';
import { findFreePort, startRestartable } from '../../../helpers/databases.ts';
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
    client.destroy();
  },

  async open(place, options) {
    const client = createDynamoDB(place);
    const journal = createJournal(dynamodbStore(client, TABLE), options);
    return { journal, close: async () => client.destroy() };
  },

  async dump(place) {
    const client = createDynamoDB(place);
    const { Items } = await client.scan({ TableName: TABLE });
    client.destroy();
    return JSON.stringify(Items);
  },
};

export function createDynamoDB(endpoint: string): DynamoDB {
  return new DynamoDB({
    endpoint,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
}
