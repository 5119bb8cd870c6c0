import { findFreePort } from '../../helpers/free-port.ts';
import type { RunningEngine, WorkflowExample } from './example.ts';
import { describeInterruptions } from './interruptions.ts';
import { describeQueue, type QueueDatabase } from './queue-scenarios.ts';
import { describeWorkflow } from './scenarios.ts';

export interface RunningBullMQ extends RunningEngine, QueueDatabase {}

/** Defines the scenarios of every engine, and those of a queue. */
export function describeBullMQ(name: string, start: () => Promise<RunningBullMQ>): void {
  let engine: RunningBullMQ;
  const example: WorkflowExample = {
    name,
    folder: 'bullmq',
    async start() {
      engine = await start();
      const env = { SHOP_URL: `http://127.0.0.1:${await findFreePort()}`, SWEEP_INTERVAL: '200' };
      return { ...engine, env: { ...engine.env, ...env } };
    },
  };
  describeWorkflow(example);
  describeInterruptions(example);
  describeQueue(example, { removeJobs: () => engine.removeJobs(), dump: () => engine.dump() });
}
