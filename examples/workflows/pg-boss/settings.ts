/** One PostgreSQL for pg-boss and the journal, and in your shop for the orders too. */
export const databaseUrl = process.env.DATABASE_URL ?? 'postgres://localhost/shop';

/** How often a job sweeps, in milliseconds. A sweep that finds nothing due is one read of the journal. */
export const sweepInterval = Number(process.env.SWEEP_INTERVAL ?? 5_000);
