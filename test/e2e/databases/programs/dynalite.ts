/**
 * Serves the interface of DynamoDB on a port, with its data in a folder. It writes an item and its indexes one after the
 * other, so SIGTERM ends it between two requests.
 */
import type { Server } from 'node:http';
import { createRequire } from 'node:module';

const dynalite: (options: { path: string; createTableMs: number }) => Server = createRequire(import.meta.url)(
  'dynalite',
);

const [port, path = ''] = process.argv.slice(2);
const server = dynalite({ path, createTableMs: 0 });
// A client must not use a connection at the moment when the server closes it.
server.keepAliveTimeout = 600_000;
server.listen(Number(port), '127.0.0.1', () => console.log('dynalite is ready'));
process.once('SIGTERM', () => {
  server.close(() => process.exit());
  setInterval(() => server.closeIdleConnections(), 20);
});
