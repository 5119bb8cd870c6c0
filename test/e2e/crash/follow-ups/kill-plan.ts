import type * as z from 'zod';
import type { JournalKind } from '../journal-kinds.ts';
import { createKillPlanSchema } from '../kill-switch.ts';
import { seededRandom } from '../seeded-random.ts';
import { pointsAround } from '../watched-store.ts';

/** The points at which a sweeper is killed on purpose, in the order in which a payment reaches them. */
export const sweepKillPoints = [
  ...pointsAround('claim'),
  'before request',
  'request sent',
  'request received',
  'response sent',
  'response read',
  ...pointsAround('check'),
  ...pointsAround('final'),
  'onFinal called',
  'onFinal logged',
  'onFinal done',
  ...pointsAround('end'),
  ...pointsAround('failure'),
  'onAttention called',
  'onAttention logged',
  'onAttention done',
  ...pointsAround('attention'),
  ...pointsAround('due'),
  ...pointsAround('notify'),
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
  if (/claim|failure|ttention|notify/.test(point)) return 2;
  return /inal|end/.test(point) ? 6 : 30;
}
