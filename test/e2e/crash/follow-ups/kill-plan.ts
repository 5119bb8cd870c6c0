import type * as z from 'zod';
import type { JournalKind } from '../journal-kinds.ts';
import { createKillPlanSchema } from '../kill-switch.ts';
import { seededRandom } from '../seeded-random.ts';

/** What a sweeper writes to the journal. */
export type Step = 'check' | 'final' | 'end' | 'attention' | 'failure' | 'heartbeat';

/** The points at which a sweeper is killed on purpose, in the order in which a payment reaches them. */
export const sweepKillPoints = [
  'before claim',
  'during claim',
  'after claim',
  'before request',
  'request sent',
  'request received',
  'response sent',
  'response read',
  'before check',
  'during check',
  'after check',
  'before heartbeat',
  'during heartbeat',
  'after heartbeat',
  'before final',
  'during final',
  'after final',
  'onFinal called',
  'onFinal logged',
  'onFinal done',
  'before failure',
  'during failure',
  'after failure',
  'before end',
  'during end',
  'after end',
  'onAttention called',
  'onAttention logged',
  'onAttention done',
  'before attention',
  'during attention',
  'after attention',
  'before commit',
  'after commit',
] as const;

export type SweepKillPoint = (typeof sweepKillPoints)[number];

/** When one sweeper is killed. */
export const sweepKillPlanSchema = createKillPlanSchema(sweepKillPoints);

export type SweepKillPlan = z.infer<typeof sweepKillPlanSchema>;

/** How long a sweeper lives at most, in milliseconds. */
const MAX_LIFE = 3_000;

/** One sweeper in four is killed at a random time. The others are killed at each point in turn. */
export function planSweepKill(seed: number, kind: JournalKind, generation: number): SweepKillPlan {
  const at = seededRandom(seed, 'kill sweeper', generation);
  if (generation % 4 === 0) return { kind: 'after', delay: at * MAX_LIFE };
  const points = listKillPoints(kind);
  const point = points[(Math.floor((generation * 3) / 4) + 7 * seed) % points.length] ?? 'after claim';
  const turns = Math.floor(seededRandom(seed, 'sweeper turns', generation) * 6);
  return { kind: 'at', point, nth: 1 + Math.floor(at * maxCount(point)), turns, latest: MAX_LIFE };
}

/** Only SQLite commits inside the sweeper. */
function listKillPoints(kind: JournalKind): readonly SweepKillPoint[] {
  const isSqlite = kind === 'sqlite';
  return sweepKillPoints.filter((point) => isSqlite || !point.endsWith('commit'));
}

/** Not every payment reaches every point. A page of payments reaches the first ones at once. */
function maxCount(point: SweepKillPoint): number {
  if (/claim|heartbeat|failure|ttention/.test(point)) return 2;
  return /inal|end/.test(point) ? 6 : 30;
}
