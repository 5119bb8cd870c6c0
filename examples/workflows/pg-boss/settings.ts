/** One PostgreSQL for pg-boss and the journal, and in your shop for the orders too. */
export const databaseUrl = process.env.DATABASE_URL ?? 'postgres://localhost/shop';

/** How long a claim lasts after its worker's last heartbeat, in milliseconds. */
export const lease = Number(process.env.JOURNAL_LEASE ?? 10_000);

/** In seconds. The job of a killed worker continues after that. Keep it longer than `timeout` of a request. */
export const jobExpiry = Number(process.env.JOB_EXPIRY ?? 30);

/** In seconds: how often a worker looks for jobs that have expired. */
export const superviseInterval = Number(process.env.SUPERVISE_INTERVAL ?? 10);

/** In seconds: the longest pause between two retries of a job. */
export const maxRetryDelay = Number(process.env.MAX_RETRY_DELAY ?? 60);
