/**
 * What a test waits for has failed after so long, in milliseconds: by an assertion, and before the limit of the test. No
 * machine is so busy.
 */
export const PATIENCE = Number(process.env.TEST_PATIENCE ?? 240_000);
