/** What a timer can hold, in milliseconds: `setTimeout` takes anything longer for 1 ms. */
export const LONGEST_TIMER = 2 ** 31 - 1;
