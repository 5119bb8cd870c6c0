/**
 * The counted time, with which `retention` is measured. Any clock might be wrong for a while: the machine's, the database
 * server's, or that of one process among several. So a store on a database counts the time itself, beside its records.
 * Each write adds what the clock shows since the last count, at most {@link MAX_CLOCK_STEP}. It takes away what the clock
 * went back.
 *
 * The counted time is then never ahead of the clock, whatever the clock did in between. It is ahead of the true time by
 * one step at most for each jump. Long pauses count for less than they were, so a record is dropped late, never early.
 */

/** As much as counts at once, in milliseconds: a day. */
export const MAX_CLOCK_STEP = 24 * 60 * 60 * 1000;

/** A record is kept for this much longer than its `retention`, in milliseconds, so that a few jumps drop nothing. */
export const RETENTION_MARGIN = 7 * MAX_CLOCK_STEP;

/** The counted time is recorded no more often than this, in milliseconds. */
export const MIN_CLOCK_STEP = 60_000;
