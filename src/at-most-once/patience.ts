/**
 * How long a journal is waited for that gives no answer, in milliseconds: a database that hangs must hold up neither a
 * charge that was not sent for ever, nor the result of one that was made.
 */
export const JOURNAL_TIMEOUT = 15_000;

/** After an abort, a journal that is about to answer is still waited for, so that the key is left free and not in doubt. */
export const ABORT_GRACE = 1_000;
