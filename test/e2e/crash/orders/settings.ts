import * as z from 'zod';

/** The points at which a process of the shop is killed on purpose. */
export const killPoints = [
  'before request',
  'request sent',
  'accepted',
  'response sent',
  'response read',
  'before commit',
  'after commit',
  'onPaid called',
  'onPaid logged',
  'press done',
] as const;

const killPlanSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('at'),
    point: z.enum(killPoints),
    nth: z.number(),
    turns: z.number(),
    latest: z.number(),
  }),
  z.object({ kind: z.literal('after'), delay: z.number() }),
  z.object({ kind: z.literal('none') }),
]);

/** The settings of a process of the shop, passed as JSON in its first argument. */
export const shopSettingsSchema = z.object({
  seed: z.number(),
  kind: z.string(),
  /** A file, or the URL of a database. */
  place: z.string(),
  baseUrl: z.string(),
  folder: z.string(),
  orders: z.number(),
  slot: z.number(),
  generation: z.number(),
  lease: z.number(),
  /** Whether each press charges under a key of its own, made of the time. The run must then find double charges. */
  isControl: z.boolean(),
  killPlan: killPlanSchema,
});

export type ShopSettings = z.infer<typeof shopSettingsSchema>;
export type OrderKillPlan = z.infer<typeof killPlanSchema>;
