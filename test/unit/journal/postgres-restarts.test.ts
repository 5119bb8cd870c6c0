import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

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

/** Runs a process that uses the store, and returns how many steps resolved and rejected. */
async function survives(url: string, kind: string): Promise<unknown> {
  const child = spawn(process.execPath, [program, url, kind]);
  onTestFinished(() => void child.kill('SIGKILL'));
  const gone = once(child, 'exit');
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await gone;
  expect({ code, errors: errors.replace(/^\(.*\n/gm, '') }).toEqual({ code: 0, errors: '' });
  return JSON.parse(out);
}

test.each([
  ['Pool', 'at connect'],
  ['Pool', 'after a query'],
  ['Client', 'after a query'],
] as const)('survives with a %s when PostgreSQL ends a connection %s', async (kind, when) => {
  expect(await survives(await startEndingServer(when), kind)).toEqual({ fulfilled: 0, rejected: 10 });
});
