/** A moment by two clocks: one of them stands still while the machine sleeps, the other may be set. */
export interface Timestamp {
  readonly monotonic: number;
  readonly wall: number;
}

export const readClocks = (): Timestamp => ({ monotonic: performance.now(), wall: Date.now() });

/** By whichever clock says more. */
export function elapsedSince({ monotonic, wall }: Timestamp): number {
  return Math.max(performance.now() - monotonic, Date.now() - wall);
}
