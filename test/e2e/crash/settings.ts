import * as z from 'zod';
import { killPlanSchema } from './kill-plan.ts';

/** How often a payment is checked, in milliseconds. */
export const pollingSchema = z.object({
  initialDelay: z.number(),
  minDelay: z.number(),
  maxDelay: z.number(),
  timeout: z.number(),
});

/** The settings of every process of a run. */
export const processShape = {
  seed: z.number(),
  kind: z.string(),
  /** A file, or the URL of a database. */
  place: z.string(),
  baseUrl: z.string(),
  folder: z.string(),
  slot: z.number(),
  generation: z.number(),
  lease: z.number(),
};

/** The settings of a worker process, passed as JSON in its first argument. */
export const settingsSchema = z.object({
  ...processShape,
  keys: z.number(),
  workers: z.number(),
  timeout: z.number(),
  /** Whether a reviewer resolves keys during the run. A worker then calls an unresolved key more often. */
  hasReviewer: z.boolean(),
  /** The schedule of the follow-ups, if there are any. */
  polling: z.optional(pollingSchema),
  killPlan: killPlanSchema,
});

export type Settings = z.infer<typeof settingsSchema>;
