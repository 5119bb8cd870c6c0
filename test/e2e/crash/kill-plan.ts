import * as z from 'zod';
import type { JournalKind } from './journal-kinds.ts';
import { seededRandom } from './seeded-random.ts';
import { pointsAround } from './watched-store.ts';

/** The points at which a worker is killed on purpose, in the order in which a charge reaches them. */
export const killPoints = [
  ...pointsAround('claim'),
  'before request',
  'request sent',
  'accepted',
  'response sent',
  'response read',
  ...pointsAround('retry'),
  ...pointsAround('reference'),
  'before outcome',
  'during outcome',
  'before commit',
  'after commit',
  'after outcome',
  ...pointsAround('heartbeat'),
  'call logged',
] as const;

export type KillPoint = (typeof killPoints)[number];

/** When one worker process is killed. */
export const killPlanSchema = z.discriminatedUnion('kind', [
  /**
   * Killed when it reaches the point for the nth time, after this many turns of its event loop. If it does not reach the
   * point, it is killed after `maxCalls` calls.
   */
  z.object({
    kind: z.literal('at'),
    point: z.enum(killPoints),
    nth: z.number(),
    turns: z.number(),
    maxCalls: z.number(),
  }),
  /** Killed this many milliseconds after it was ready. */
  z.object({ kind: z.literal('after'), delay: z.number() }),
  /** Stopped for longer than a lease after its nth claim, then continued, and killed after `maxCalls` calls. */
  z.object({ kind: z.literal('paused'), nth: z.number(), maxCalls: z.number() }),
  z.object({ kind: z.literal('none') }),
]);

export type KillPlan = z.infer<typeof killPlanSchema>;

/** One worker in three is killed at a random time, and one in fifteen is paused. The others are killed at each point in turn. */
export function planKill(
  seed: number,
  kind: JournalKind,
  generation: number,
  callsPerKill: number,
): KillPlan {
  const at = seededRandom(seed, 'kill', generation);
  const points = listKillPoints(kind);
  const calls = Math.ceil(3 * callsPerKill) + 10;
  if (generation % 15 === 6 && points.includes('after claim'))
    return { kind: 'paused', nth: 1 + Math.floor(at * 4), maxCalls: calls };
  if (generation % 3 === 0) return { kind: 'after', delay: at * 2 * callsPerKill * MS_PER_CALL };
  const point = points[(Math.floor((generation * 2) / 3) + 5 * seed) % points.length] ?? 'accepted';
  // Not every call reaches every point, and few charges last long enough for a heartbeat, or are sent again.
  const latest = isRare(point) ? 1 : Math.ceil(0.6 * callsPerKill);
  const turns = Math.floor(seededRandom(seed, 'turns', generation) * 6);
  return { kind: 'at', point, nth: 1 + Math.floor(at * latest), turns, maxCalls: calls };
}

/** Without a journal a worker reaches only a few of them, and only SQLite commits inside the worker. */
function listKillPoints(kind: JournalKind): readonly KillPoint[] {
  if (kind === 'none')
    return ['before request', 'request sent', 'accepted', 'response sent', 'response read', 'call logged'];
  if (kind === 'sqlite' || kind === 'frees expired keys') return killPoints;
  return killPoints.filter((point) => point !== 'before commit' && point !== 'after commit');
}

const isRare = (point: KillPoint) => /heartbeat|retry/.test(point);

/** A little less than one call for a key takes. */
const MS_PER_CALL = 8;
