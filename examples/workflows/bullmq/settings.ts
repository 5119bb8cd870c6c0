/** Redis or PostgreSQL, for BullMQ and the journal. */
export const queueUrl = process.env.QUEUE_URL ?? 'redis://127.0.0.1:6379';

export const queueName = 'payments';

/** How often a job sweeps, in milliseconds. A sweep that finds nothing due is one read of the journal. */
export const sweepInterval = Number(process.env.SWEEP_INTERVAL ?? 5_000);
