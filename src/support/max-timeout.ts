/**
 * The longest delay that a timer can hold, in milliseconds: `setTimeout` reads a longer one as 1 ms. It has a file of its
 * own, so that the pure entry `./schedule` loads nothing else.
 */
export const MAX_TIMEOUT_MS = 2 ** 31 - 1;
