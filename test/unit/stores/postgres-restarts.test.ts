import { createServer } from 'node:net';
import { Client, Pool } from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createPostgresStore } from '../../../src/stores/postgres/store.ts';
import { turns } from '../../helpers/fake-timers.ts';
import { startListening } from '../../helpers/start-listening.ts';
import { createChange } from '../../helpers/store-writes.ts';

/** A message of the PostgreSQL protocol. */
function message(type: string, body = ''): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(4 + body.length, 1);
  return Buffer.concat([head, Buffer.from(body, 'latin1')]);
}
const AUTHENTICATED = message('R', '\0\0\0\0');
const READY = message('Z', 'I');
const ONE_ROW = Buffer.concat([
  message('1'),
  message('2'),
  // One column, `one`, of type int4, in text.
  message('T', '\0\x01one\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0'),
  message('D', '\0\x01\0\0\0\x011'),
  message('C', 'SELECT 1\0'),
]);
const FATAL = message('E', 'SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0');

/** Starts a PostgreSQL that ends each connection in the piece of data that makes it ready. */
async function startEndingServer(when: 'at connect' | 'after a query'): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    const end = (...before: Buffer[]) => socket.end(Buffer.concat([...before, READY, FATAL]));
    socket.once('data', () => {
      if (when === 'at connect') return end(AUTHENTICATED);
      socket.on('data', () => end(ONE_ROW));
      return socket.write(Buffer.concat([AUTHENTICATED, READY]));
    });
  });
  const { port } = await startListening(server);
  onTestFinished(() => void server.close());
  return `postgres://merchant:merchant@127.0.0.1:${port}/postgres`;
}

test.each([
  ['Pool', 'at connect'],
  ['Pool', 'after a query'],
  ['Client', 'after a query'],
] as const)('survives with a %s when PostgreSQL ends a connection %s', async (kind, when) => {
  // The merchant's code has no listener for errors.
  const uncaught = vi.fn();
  process.on('uncaughtException', uncaught);
  onTestFinished(() => void process.off('uncaughtException', uncaught));
  const connectionString = await startEndingServer(when);
  const client = kind === 'Pool' ? new Pool({ connectionString, max: 4 }) : new Client({ connectionString });
  if (client instanceof Client) await client.connect();
  const store = createPostgresStore(client, 'payments_journal');
  for (let count = 0; count < 5; count++) {
    const both = [store.write('order 1', createChange()), store.read('order 1')];
    const ends = await Promise.allSettled(both);
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  }
  // An error between two requests must not end the process either.
  await turns();
  expect(uncaught).not.toHaveBeenCalled();
  await client.end();
});
