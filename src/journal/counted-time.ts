/**
 * The time that `retention` is measured with. Any clock may be wrong for a while: the machine's, the database server's,
 * or that of one process among several. So a store on a database counts the time itself, beside its records: each write
 * adds what the clock says has passed since it was last asked, at most {@link LONGEST_STEP}, or takes away what the clock
 * went back. The counted time is then never ahead of the clock, whatever the clock did in between, and is ahead of the
 * true time by one step at most for each jump. Long pauses count for less than they were, so a record is dropped late.
 */

/** As much as counts at once, in milliseconds: a day. */
export const LONGEST_STEP = 24 * 60 * 60 * 1000;

/** A record is kept for this much longer than its `retention`, in milliseconds, so that a few jumps drop nothing. */
export const MARGIN = 7 * LONGEST_STEP;

/** The counted time is recorded no more often than this, in milliseconds. */
export const SHORTEST_STEP = 60_000;
