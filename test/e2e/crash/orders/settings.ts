import * as z from 'zod';
import { createKillPlanSchema } from '../kill-switch.ts';
import { processShape } from '../settings.ts';
import { pointsAround } from '../watched-store.ts';

/** The points at which a process of the shop is killed on purpose. */
export const killPoints = [
  'before request',
  'request sent',
  'accepted',
  'response sent',
  'response read',
  ...pointsAround('claim'),
  ...pointsAround('reference'),
  ...pointsAround('outcome'),
  ...pointsAround('name'),
  ...pointsAround('confirm'),
  ...pointsAround('resolve'),
  ...pointsAround('check'),
  ...pointsAround('final'),
  ...pointsAround('end'),
  ...pointsAround('attention'),
  'before commit',
  'after commit',
  'onPaid called',
  'onPaid logged',
  'press done',
] as const;

const killPlanSchema = createKillPlanSchema(killPoints);

/** The settings of a process of the shop, passed as JSON in its first argument. */
export const shopSettingsSchema = z.object({
  ...processShape,
  orders: z.number(),
  /** Whether each press charges under a key of its own, made of the time. The run must then find double charges. */
  isControl: z.boolean(),
  /** Whether it presses no more, and only sweeps. */
  isSettling: z.boolean(),
  killPlan: killPlanSchema,
});

export type ShopSettings = z.infer<typeof shopSettingsSchema>;
export type OrderKillPlan = z.infer<typeof killPlanSchema>;
