import * as z from 'zod';
import { pollingSchema, processShape } from '../settings.ts';
import { sweepKillPlanSchema } from './kill-plan.ts';

/** What is taken away from a journal, to show that the harness sees it. */
export const controls = ['no lease', 'no lease, no version'] as const;

/** The settings of a sweeper process, passed as JSON in its first argument. */
export const sweeperSettingsSchema = z.object({
  ...processShape,
  timeout: z.number(),
  polling: pollingSchema,
  control: z.optional(z.enum(controls)),
  /** Whether some handlers throw, and some take long. */
  hasBadHandlers: z.boolean(),
  killPlan: sweepKillPlanSchema,
});

export type SweeperSettings = z.infer<typeof sweeperSettingsSchema>;
