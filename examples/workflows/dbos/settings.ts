/** DBOS, the journal and, in a shop of your own, the orders too: one PostgreSQL. */
export const databaseUrl = process.env.DATABASE_URL ?? 'postgres://localhost/shop';

/** How long a charge counts as under way after its worker was last heard of, in milliseconds. */
export const lease = Number(process.env.JOURNAL_LEASE ?? 10_000);

/** Of this worker, and the same after it was started again: only so does it find the orders that it had. */
export const executorID = process.env.EXECUTOR_ID ?? 'worker-1';

export const application = 'shop';
export const queue = 'orders';

/** What a hint is sent on. */
export const hints = 'payment-hints';
