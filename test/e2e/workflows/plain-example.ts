import { once } from 'node:events';
import { createServer } from 'node:net';
import type { WorkflowExample } from './example.ts';

export const plain = {
  name: 'One Node process with SQLite',
  folder: 'plain',
  takesOverAfter: 0,
  async start() {
    const env = { WORKER_URL: `http://127.0.0.1:${await lastingPort()}` };
    return { env, rows: async () => 0, stop: async () => {} };
  },
} satisfies WorkflowExample;

/** A free port below those that the system gives out: the worker needs the same one again after each restart. */
async function lastingPort(): Promise<number> {
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
