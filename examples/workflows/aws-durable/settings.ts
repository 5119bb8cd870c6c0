/** One PostgreSQL for the journal and for the orders. */
export const databaseUrl = process.env.DATABASE_URL ?? 'postgres://localhost/shop';

/** How long a claim of a charge lasts after its process's last heartbeat, in milliseconds. */
export const lease = Number(process.env.JOURNAL_LEASE ?? 10_000);

/** The durable function, with a version or an alias: AWS refuses a durable execution without one. */
export const functionName = process.env.ORDER_FUNCTION ?? 'order-workflow:live';
