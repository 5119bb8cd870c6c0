/** One PostgreSQL for the journal and for the orders. */
export const databaseUrl = process.env.DATABASE_URL ?? 'postgres://localhost/shop';

/** When `cron.ts` sweeps: every minute. */
export const cronPattern = process.env.CRON_PATTERN ?? '* * * * *';

/** How long a sweep takes at most, in milliseconds: less than the time between two. */
export const budget = 50_000;
