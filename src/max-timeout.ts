/**
 * The longest delay that a timer can hold, in milliseconds: `setTimeout` makes 1 ms of anything longer. It has a file of
 * its own so that the pure `./schedule` loads nothing else.
 */
export const MAX_TIMEOUT_MS = 2 ** 31 - 1;
