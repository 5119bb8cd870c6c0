import { PgBoss } from 'pg-boss';
import { orderPayments } from './payments.ts';
import { databaseUrl, sweepInterval } from './settings.ts';

const queue = 'sweep';

/** In seconds. A sweep ends before its job expires, and another worker then takes over the job of a killed one. */
const JOB_EXPIRY = 60;
const SUPERVISE_INTERVAL = 10;

/** Starts pg-boss with jobs that sweep. Any number of processes can do so: at most one job waits. */
export async function startSweeps(): Promise<PgBoss> {
  const boss = new PgBoss({
    connectionString: databaseUrl,
    superviseIntervalSeconds: SUPERVISE_INTERVAL,
    monitorIntervalSeconds: SUPERVISE_INTERVAL,
    schedule: false,
  });
  boss.on('error', ({ message }) => console.error(message));
  await boss.start();
  // `short`: at most one job waits in the queue.
  await boss.createQueue(queue, { policy: 'short', expireInSeconds: JOB_EXPIRY, retryDelay: 5 });
  await boss.work(queue, { pollingIntervalSeconds: 0.5 }, async ([job]) => {
    // Before the sweep, so that neither an error nor a kill during it ends the chain of jobs.
    await addSweep(boss, sweepInterval);
    return await orderPayments.sweep({ budget: JOB_EXPIRY * 500, signal: job?.signal });
  });
  // A chain that has ended begins again.
  await addSweep(boss, 0);
  return boss;
}

async function addSweep(boss: PgBoss, delay: number): Promise<void> {
  await boss.send(queue, null, { startAfter: new Date(Date.now() + delay) });
}
