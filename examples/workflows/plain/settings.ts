/** The address on which the shop listens. */
export const shopUrl = new URL(process.env.SHOP_URL ?? 'http://127.0.0.1:4020');

export const journalFile = process.env.JOURNAL_FILE ?? 'journal.db';

/** How long a claim of a charge lasts after its process's last heartbeat, in milliseconds. */
export const lease = Number(process.env.JOURNAL_LEASE ?? 10_000);
