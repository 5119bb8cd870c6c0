import { once } from 'node:events';
import { createServer } from 'node:net';
import type { WorkflowExample } from './example.ts';

export const plain = {
  name: 'One Node process with SQLite',
  folder: 'plain',
  async start() {
    const env = { WORKER_URL: `http://127.0.0.1:${await findLastingPort()}` };
    return { env, rows: async () => 0, stop: async () => {} };
  },
} satisfies WorkflowExample;

/** Returns a free port below those that the system assigns: the worker needs the same one after each restart. */
async function findLastingPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
