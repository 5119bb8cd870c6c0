/** One PostgreSQL for DBOS and the journal, and in your shop for the orders too. */
export const databaseUrl = process.env.DATABASE_URL ?? 'postgres://localhost/shop';

/** How long a claim lasts after its worker's last heartbeat, in milliseconds. */
export const lease = Number(process.env.JOURNAL_LEASE ?? 10_000);

/** The name of this worker. It must be the same after a restart, or DBOS does not give the worker its orders back. */
export const executorID = process.env.EXECUTOR_ID ?? 'worker-1';

export const application = 'shop';
export const queue = 'orders';

/** The topic of notifications. */
export const topic = 'payment-notifications';
