/** The address on which the worker listens. Only one process can: a second worker ends at once. */
export const workerUrl = new URL(process.env.WORKER_URL ?? 'http://127.0.0.1:4020');

export const journalFile = process.env.JOURNAL_FILE ?? 'journal.db';

/** How long a claim lasts after its worker's last heartbeat, in milliseconds. */
export const lease = Number(process.env.JOURNAL_LEASE ?? 10_000);
