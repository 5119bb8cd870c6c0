import { type Db, PgBoss, type QueueOptions } from 'pg-boss';
import { databaseUrl, jobExpiry, maxRetryDelay, superviseInterval } from './settings.ts';

/** What pg-boss stores of a charge. The rest is in the shop's table, so that no phone number is in a queue. */
export interface ChargeJob {
  readonly orderId: string;
}

/** All that a wait needs. Any worker can continue it. */
export interface CheckJob {
  readonly reference: string;
  /** Epoch milliseconds. */
  readonly chargedAt: number;
}

export const chargeQueue = 'charge';
export const checkQueue = 'check';

/** The jobs of each queue that one worker runs at the same time. */
export const concurrency = 5;

const queueOptions: QueueOptions = {
  expireInSeconds: jobExpiry,
  // A temporary error must not end an order, and neither must workers that are killed.
  retryLimit: 1_000_000,
  retryBackoff: true,
  retryDelay: 1,
  retryDelayMax: maxRetryDelay,
};

/** Starts pg-boss. A process that runs no jobs does not look for expired ones either. */
export async function startBoss({ isWorker }: { isWorker: boolean }): Promise<PgBoss> {
  const boss = new PgBoss({
    connectionString: databaseUrl,
    // Each running job holds a connection, and pg-boss itself needs some.
    max: isWorker ? 2 * concurrency + 5 : 2,
    supervise: isWorker,
    superviseIntervalSeconds: superviseInterval,
    monitorIntervalSeconds: superviseInterval,
    schedule: false,
  });
  boss.on('error', (error) => console.error(error.message));
  await boss.start();
  for (const name of [chargeQueue, checkQueue]) {
    // `short`: at most one job with the same key waits in the queue.
    await boss.createQueue(name, { policy: 'short', ...queueOptions });
    // For a queue that was created with other settings.
    await boss.updateQueue(name, queueOptions);
  }
  return boss;
}

/** A job that runs, with the transaction in which pg-boss completes it. */
export interface RunningJob<Data> {
  readonly data: Data;
  /** Aborted once the job has expired. */
  readonly signal: AbortSignal;
  readonly db: Db;
}

interface Adding {
  /** In milliseconds. */
  readonly delay?: number | undefined;
  /** The running job that adds this one: it is added only if that one completes. */
  readonly by?: RunningJob<unknown>;
}

/** Adds the job that charges an order, if none is waiting. */
export async function addCharge(boss: PgBoss, job: ChargeJob, adding: Adding = {}): Promise<void> {
  await boss.send(chargeQueue, job, { singletonKey: job.orderId, ...toOptions(adding) });
}

/** Adds the next check of a payment, if none is waiting. */
export async function addCheck(boss: PgBoss, job: CheckJob, adding: Adding = {}): Promise<void> {
  await boss.send(checkQueue, job, { singletonKey: job.reference, ...toOptions(adding) });
}

function toOptions({ delay = 0, by }: Adding) {
  // pg-boss rolls back the transaction of a job that expires. What the job then still sends might not be part of it.
  by?.signal.throwIfAborted();
  return { startAfter: new Date(Date.now() + delay), ...(by && { db: by.db }) };
}
