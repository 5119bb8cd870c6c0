import * as z from 'zod';
import type { AroundCommit } from './journals.ts';
import type { WritePoint } from './watched-store.ts';

/** A kill at a point of the work: after the process has reached it for the nth time. */
export interface AimedKill<Point extends string> {
  readonly kind: 'at';
  readonly point: Point;
  readonly nth: number;
  /** For a point `during …`: how many turns of the event loop later. */
  readonly turns: number;
}

/** When a process that works for a time is killed. */
export const createKillPlanSchema = <const Point extends string>(points: readonly [Point, ...Point[]]) =>
  z.discriminatedUnion('kind', [
    /** Killed when it reaches the point for the nth time. If it does not, it is killed after `latest` milliseconds. */
    z.object({
      kind: z.literal('at'),
      point: z.enum(points),
      nth: z.number(),
      turns: z.number(),
      latest: z.number(),
    }),
    /** Killed this many milliseconds after it was ready. */
    z.object({ kind: z.literal('after'), delay: z.number() }),
    z.object({ kind: z.literal('none') }),
  ]);

/** Kills this process at the point that its plan names. */
export class KillSwitch<Point extends string> {
  readonly #plan: AimedKill<Point> | undefined;
  #reached = 0;

  constructor(plan: AimedKill<Point> | { readonly kind: string; readonly point?: never }) {
    this.#plan = isAimed(plan) ? plan : undefined;
  }

  /** Does not return if the plan names this point. */
  reach(point: Point | WritePoint): void {
    if (this.#isDue(point)) process.kill(process.pid, 'SIGKILL');
  }

  /** Starts the work. If the plan names this point, it kills the process a few turns of the event loop later. */
  async during<T>(point: Point | WritePoint, work: () => Promise<T>): Promise<T> {
    const isDue = this.#isDue(point);
    const working = work();
    if (!isDue || !this.#plan) return working;
    working.catch(() => {});
    for (let turn = 0; turn < this.#plan.turns; turn++) await new Promise((resolve) => setImmediate(resolve));
    process.kill(process.pid, 'SIGKILL');
    return working;
  }

  #isDue(point: Point | WritePoint): boolean {
    return this.#plan?.point === point && ++this.#reached === this.#plan.nth;
  }
}

function isAimed<Point extends string>(
  plan: AimedKill<Point> | { readonly kind: string; readonly point?: never },
): plan is AimedKill<Point> {
  return plan.kind === 'at' && plan.point !== undefined;
}

/** The points around each commit of SQLite. */
export function watchCommits(killSwitch: {
  reach(point: 'before commit' | 'after commit'): void;
}): AroundCommit {
  return (commit) => {
    killSwitch.reach('before commit');
    commit();
    killSwitch.reach('after commit');
  };
}

/** Tells the harness that this process has not reached its kill point in time, and kills it. */
export async function killOverdue(): Promise<void> {
  await new Promise((resolve) => process.send?.('overdue', resolve));
  process.kill(process.pid, 'SIGKILL');
}
