/** A moment by two clocks: one of them stands still while the machine sleeps, the other may be set. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

export const rightNow = (): Moment => ({ monotonic: performance.now(), wall: Date.now() });

/** By whichever clock says more. */
export function millisecondsSince({ monotonic, wall }: Moment): number {
  return Math.max(performance.now() - monotonic, Date.now() - wall);
}
