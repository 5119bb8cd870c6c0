/** One PostgreSQL for the journal and for the orders. */
export const databaseUrl = process.env.DATABASE_URL ?? 'postgres://localhost/shop';

/** The address on which the shop listens. */
export const shopUrl = new URL(process.env.SHOP_URL ?? 'http://127.0.0.1:4020');

/** How long a claim of a charge lasts after its process's last heartbeat, in milliseconds. */
export const lease = Number(process.env.JOURNAL_LEASE ?? 10_000);

/** When `cron.ts` sweeps: every minute. */
export const cronPattern = process.env.CRON_PATTERN ?? '* * * * *';

/** How long a sweep takes at most, in milliseconds: less than the time between two. */
export const budget = 50_000;
