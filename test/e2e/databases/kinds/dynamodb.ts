import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { dynamodbStore } from '../../../../examples/journals/dynamodb.ts';
import { journalTable } from '../../../../examples/journals/dynamodb-table.ts';
import { createJournal } from '../../../../src/journal/index.ts';
import { findFreePort } from '../../../helpers/databases.ts';
import { createTempFolder } from '../../../helpers/temp-folder.ts';
import { ExampleProcess } from '../../workflows/child-process.ts';
import type { TestDatabase } from '../database.ts';

const TableName = 'payments-journal';
const PROGRAM = new URL('../programs/dynalite.ts', import.meta.url).pathname;

/** The example's store, on dynalite: an implementation of DynamoDB's interface on LevelDB. */
export const database: TestDatabase = {
  async start() {
    const port = await findFreePort();
    const folder = createTempFolder();
    const start = async () => {
      const server = new ExampleProcess(process.execPath, [PROGRAM, String(port), folder.path], {});
      await server.waitForLine((line) => line === 'ready');
      return server;
    };
    let server = await start();
    return {
      place: `http://127.0.0.1:${port}`,
      async takeAway() {
        await server.kill('SIGTERM');
      },
      async bringBack() {
        server = await start();
      },
      async stop() {
        await server.kill('SIGTERM');
        folder.remove();
      },
    };
  },

  async prepare(place) {
    const client = createClient(place);
    await client.createTable({ ...journalTable, TableName });
    client.destroy();
  },

  async open(place, options) {
    const client = createClient(place);
    const journal = createJournal(dynamodbStore(client, TableName), options);
    return { journal, close: async () => client.destroy() };
  },

  async dump(place) {
    const client = createClient(place);
    const { Items } = await client.scan({ TableName });
    client.destroy();
    return JSON.stringify(Items);
  },
};

export function createClient(endpoint: string): DynamoDB {
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  return new DynamoDB({ endpoint, region: 'local', credentials });
}
