import { engine } from './engine.ts';
import { orderPayments } from './payments.ts';
import { sweepInterval } from './settings.ts';

/** In milliseconds. */
const BUDGET = 20_000;

/** Starts a worker, and the scheduler of the job that sweeps. Any number of processes can do so: the scheduler is one. */
export async function startSweeps(): Promise<{ stop(): Promise<void> }> {
  const queue = engine.queue();
  // With the default of 1, a sweep whose worker was killed twice would fail before BullMQ has scheduled the next one.
  const worker = engine.worker(() => orderPayments.sweep({ budget: BUDGET }), { maxStalledCount: 1_000_000 });
  worker.on('error', (error) => console.error(error.message));
  worker.on('failed', (_job, error) => console.error(`A sweep failed: ${error.message}`));
  const opts = { removeOnComplete: { count: 100 }, removeOnFail: { count: 1_000 } };
  await queue.upsertJobScheduler('sweep', { every: sweepInterval }, { opts });
  return {
    async stop() {
      // Lets a running sweep end.
      await worker.close();
      await queue.close();
    },
  };
}
