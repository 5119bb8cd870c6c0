/** Serves DynamoDB's interface on a port, from a folder. SIGTERM ends it between two writes: it writes items in steps. */
import type { Server } from 'node:http';
import { createRequire } from 'node:module';

const dynalite: (options: { path: string; createTableMs: number }) => Server =
  createRequire(import.meta.url)('dynalite');

const [port, path = ''] = process.argv.slice(2);
const server = dynalite({ path, createTableMs: 0 });
// A client might use a connection again at the moment when it is closed.
server.keepAliveTimeout = 60_000;
server.listen(Number(port), '127.0.0.1', () => console.log('ready'));
process.once('SIGTERM', () => server.close(() => process.exit()));
