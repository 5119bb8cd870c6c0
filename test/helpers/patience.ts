/**
 * What a test waits for has failed after so long, in milliseconds: by an assertion, and before the limit of the test. No
 * machine is so busy. `npm run faults` has less of it.
 */
export const PATIENCE = Number(process.env.TEST_PATIENCE ?? 240_000);

/** Returns what throws once a wait has lasted that long. No test fakes this clock. */
export function limitPatience(what: unknown): () => void {
  const end = process.hrtime.bigint() + BigInt(PATIENCE) * 1_000_000n;
  return () => {
    if (process.hrtime.bigint() > end) throw new Error(`It did not come to this: ${what}`);
  };
}
