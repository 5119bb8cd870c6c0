/** What the seed of a run decides: when each process is killed, what it does, and how the service responds. */

import { createHash } from 'node:crypto';
import * as z from 'zod';

/** Returns a number in [0, 1), the same for the same parts. A seed repeats a run as far as processes can. */
export function seededRandom(...parts: (string | number)[]): number {
  return createHash('sha256').update(parts.join('/')).digest().readUInt32BE() / 2 ** 32;
}

/** Returns one of the names, each in proportion to its weight. `at` is a number in [0, 1). */
export function pickWeighted<Name extends string>(weights: Readonly<Record<Name, number>>, at: number): Name {
  const names: Name[] = [];
  for (const name in weights) names.push(name);
  let left = at * names.reduce((sum, name) => sum + weights[name], 0);
  for (const name of names) {
    left -= weights[name];
    if (left < 0) return name;
  }
  throw new Error('No weights were given.');
}

/** The points at which a process of the shop is killed on purpose, and how often it reaches each until then, at most. */
const killPoints = {
  'before write': 60,
  'during write': 60,
  'after write': 60,
  'before request': 40,
  'request sent': 40,
  'request received': 40,
  'response sent': 40,
  'response read': 40,
  'handler called': 6,
  'handler logged': 6,
  'handler done': 6,
  'call ended': 30,
};

export type KillPoint = keyof typeof killPoints;

export const points = Object.keys(killPoints).filter((name): name is KillPoint => name in killPoints);

const killPlanSchema = z.discriminatedUnion('kind', [
  /**
   * Killed when it reaches the point for the nth time, or at the end of its life. At `during write` and `request sent`, it is
   * killed so many turns of the event loop later.
   */
  z.object({ kind: z.literal('at'), point: z.enum(points), nth: z.number(), turns: z.number() }),
  /** Killed this many milliseconds after it was ready. */
  z.object({ kind: z.literal('after'), delay: z.number() }),
  z.object({ kind: z.literal('none') }),
]);

export type KillPlan = z.infer<typeof killPlanSchema>;

/** How long a process lives that is to be killed, in milliseconds. */
export const MAX_LIFE = 2_500;

/** One process in four is killed at a random time. The others are killed at each point in turn. */
export function planKill(seed: number, generation: number): KillPlan {
  const at = (what: string) => seededRandom(seed, what, generation);
  if (generation % 4 === 0) return { kind: 'after', delay: at('delay') * MAX_LIFE };
  const point = points[(Math.floor((generation * 3) / 4) + 5 * seed) % points.length] ?? 'after write';
  return {
    kind: 'at',
    point,
    nth: 1 + Math.floor(at('nth') * killPoints[point]),
    turns: Math.floor(at('turns') * 6),
  };
}

/** What is taken away from the journal, to show that the judge sees it. */
export const controls = ['ends with its process', 'frees expired claims', 'ignores versions'] as const;

/** What a process of the shop gets as JSON in its first argument. */
export const settingsSchema = z.object({
  seed: z.number(),
  kind: z.string(),
  control: z.optional(z.enum(controls)),
  /** A file, or the URL of a database. */
  place: z.string(),
  baseUrl: z.string(),
  folder: z.string(),
  slot: z.number(),
  /** Counts the processes of a run. */
  generation: z.number(),
  /** Whether it begins nothing new, and only follows up. */
  isSettling: z.boolean(),
  killPlan: killPlanSchema,
});

export type Settings = z.infer<typeof settingsSchema>;

/** How long a process holds a claim, and waits for a response, in milliseconds. */
export const LEASE = 1_500;
export const TIMEOUT = 2_000;

export const API_KEY = 'sk_test_crashproof_4kZq';
export const PHONE = '024 412 3456';
export const EMAIL = 'ama@example.com';
