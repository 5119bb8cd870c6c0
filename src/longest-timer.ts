/** What a timer can hold, in milliseconds: `setTimeout` takes anything longer for 1 ms. */
export const MAX_TIMEOUT_MS = 2 ** 31 - 1;
