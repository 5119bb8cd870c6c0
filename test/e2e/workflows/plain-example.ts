import { findFreePort } from '../../helpers/free-port.ts';
import type { WorkflowExample } from './example.ts';

export const plain: WorkflowExample = {
  name: 'One Node process with SQLite',
  folder: 'plain',
  hasFollowUps: true,
  async start() {
    const env = { SHOP_URL: `http://127.0.0.1:${await findFreePort()}` };
    // The state of a follow-up is in the record of its charge.
    return { env, rows: async () => 0, stop: async () => {} };
  },
};
