import * as z from 'zod';
import { chance } from './chance.ts';
import type { JournalKind } from './kinds.ts';

/** The moments at which a worker is killed on purpose, in the order in which a charge comes past them. */
export const points = [
  'before begin',
  'during begin',
  'after begin',
  'request leaving',
  'request left',
  'accepted',
  'answered',
  'answer read',
  'before end',
  'during end',
  'before commit',
  'after commit',
  'after end',
  'during renewal',
  'after renewal',
  'noted',
] as const;

export type Point = (typeof points)[number];

/** What becomes of one worker process. */
export const doomSchema = z.discriminatedUnion('manner', [
  /** Killed when it comes past the point for the nth time, so many turns of its event loop later; or after so many calls, where that never comes. */
  z.object({
    manner: z.literal('at'),
    point: z.enum(points),
    nth: z.number(),
    turns: z.number(),
    most: z.number(),
  }),
  /** Killed so many milliseconds after it was ready. */
  z.object({ manner: z.literal('after'), delay: z.number() }),
  /** Stopped for longer than a lease once its nth claim is written, then let go on to be killed later. */
  z.object({ manner: z.literal('held up'), nth: z.number(), most: z.number() }),
  z.object({ manner: z.literal('spared') }),
]);

export type Doom = z.infer<typeof doomSchema>;

/** One worker in three is killed at a random time, the others at each point in turn; one in fifteen is only held up. */
export function doomOf(seed: number, kind: JournalKind, generation: number, visits: number): Doom {
  const at = chance(seed, 'doom', generation);
  const way = pointsOf(kind);
  const calls = Math.ceil(3 * visits) + 10;
  if (generation % 15 === 6 && way.includes('after begin'))
    return { manner: 'held up', nth: 1 + Math.floor(at * 4), most: calls };
  if (generation % 3 === 0) return { manner: 'after', delay: at * 2 * visits * MILLISECONDS_PER_VISIT };
  const point = way[(Math.floor((generation * 2) / 3) + 5 * seed) % way.length] ?? 'accepted';
  // Not each visit comes past each point, and few charges last long enough for a renewal.
  const latest = isRare(point) ? 1 : Math.ceil(0.6 * visits);
  const turns = Math.floor(chance(seed, 'turns', generation) * 6);
  return { manner: 'at', point, nth: 1 + Math.floor(at * latest), turns, most: calls };
}

/** Without a journal a worker comes past few of them, and only SQLite commits inside the worker. */
function pointsOf(kind: JournalKind): readonly Point[] {
  if (kind === 'none')
    return ['request leaving', 'request left', 'accepted', 'answered', 'answer read', 'noted'];
  if (kind === 'sqlite' || kind === 'expired is free') return points;
  return points.filter((point) => point !== 'before commit' && point !== 'after commit');
}

const isRare = (point: Point) => point === 'during renewal' || point === 'after renewal';

/** Rather less than one visit of a key takes. */
const MILLISECONDS_PER_VISIT = 8;
