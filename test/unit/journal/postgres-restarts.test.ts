import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { postgresSchema } from '../../../src/journal/postgres-table.ts';
import { createDatabase } from '../../helpers/use-database.ts';

const program = fileURLToPath(new URL('programs/restarts.ts', import.meta.url));

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
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    const end = (...before: Buffer[]) => socket.end(Buffer.concat([...before, READY, FATAL]));
    socket.once('data', () => {
      if (when === 'at connect') return end(AUTHENTICATED);
      socket.on('data', () => end(ONE_ROW));
      return socket.write(Buffer.concat([AUTHENTICATED, READY]));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no address');
  return `postgres://merchant:merchant@127.0.0.1:${address.port}/postgres`;
}

/** A process that uses the store, and how many steps resolved and rejected; `meanwhile` runs until it has ended. */
async function survives(url: string, kind: string, count: number, meanwhile?: () => Promise<unknown>) {
  const child = spawn(process.execPath, [program, url, kind, String(count)]);
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  let ended = false;
  const gone = once(child, 'exit').then(([code]) => {
    ended = true;
    return code;
  });
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  while (meanwhile && !ended) {
    await meanwhile();
    // Each connection costs both sides much more than a key.
    await sleep(10);
  }
  const [out, errors] = await said;
  expect({ code: await gone, errors: errors.replace(/^\(.*\n/gm, '') }).toEqual({ code: 0, errors: '' });
  const results: unknown = JSON.parse(out.replace('ready\n', ''));
  return results;
}

test.each([
  ['Pool', 'at connect'],
  ['Pool', 'after a query'],
  ['Client', 'after a query'],
] as const)('survives with a %s when PostgreSQL ends a connection %s', async (kind, when) => {
  const results = await survives(await startEndingServer(when), kind, 5);
  expect(results).toEqual({ fulfilled: 0, rejected: 10 });
});

test('survives eighty writes while PostgreSQL ends its connections', async () => {
  const { url } = await createDatabase();
  const killer = new Client({ connectionString: url });
  onTestFinished(() => killer.end());
  await killer.connect();
  await killer.query(postgresSchema());
  const kill = () =>
    killer.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'restarted'",
    );
  const isPositive = (count: number) => count > 0;
  expect(await survives(url, 'Pool', 80, kill)).toEqual({
    fulfilled: expect.toSatisfy(isPositive),
    rejected: expect.toSatisfy(isPositive),
  });
});
