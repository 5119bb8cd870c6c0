/** What a test and a process of its shop send each other. */

import * as z from 'zod';

/** The settings of a process of the shop, as JSON in its first argument. */
export const settingsSchema = z.object({
  /** The name of a file of `kinds/`. */
  kind: z.string(),
  place: z.string(),
  baseUrl: z.string(),
  lease: z.number(),
  /** Whether its database cuts, delays and repeats writes. */
  isFaulty: z.boolean(),
});

export type ShopSettings = z.infer<typeof settingsSchema>;

const chargeSchema = z.object({
  order: z.string(),
  amount: z.number().default(25.5),
  phone: z.string().default('024 412 3456'),
  startAnother: z.boolean().default(false),
});

export type ChargeInput = z.input<typeof chargeSchema>;

/** What a process can be told to do. */
export const actionSchema = z.discriminatedUnion('do', [
  z.object({ do: z.literal('charge'), ...chargeSchema.shape }),
  z.object({ do: z.literal('checkout'), ...chargeSchema.shape }),
  z.object({ do: z.enum(['read', 'wait']), order: z.string() }),
  z.object({ do: z.literal('notify'), reference: z.string() }),
  z.object({ do: z.literal('resolve'), key: z.string(), resolution: z.enum(['not_charged', 'closed']) }),
  z.object({ do: z.literal('prune'), unfollowed: z.boolean() }),
  z.object({ do: z.enum(['sweep', 'freeze']) }),
]);

export type Action = z.input<typeof actionSchema>;

export const commandSchema = z.object({ id: z.number(), action: actionSchema });

const paymentSchema = z.object({
  key: z.string(),
  reference: z.optional(z.string()),
  status: z.optional(z.string()),
  attention: z.optional(z.string()),
});

const errorSchema = z.object({ name: z.string(), nextStep: z.optional(z.nullable(z.string())) });

/** How far an order is. */
export const statusSchema = z.object({
  state: z.enum(['unpaid', 'processing', 'paid', 'in_review']),
  canPay: z.boolean(),
  reason: z.optional(z.string()),
  differs: z.optional(z.boolean()),
  payment: z.optional(paymentSchema),
  payments: z.array(paymentSchema),
  error: z.optional(errorSchema),
});

export type Status = z.infer<typeof statusSchema>;

/** A call of a handler, or the event `not_recorded`. */
const calledSchema = z.object({
  called: z.enum(['onPaid', 'onUnpaid', 'onAttention', 'not_recorded']),
  order: z.string(),
  reference: z.optional(z.string()),
  reason: z.optional(z.string()),
});

export type Called = z.infer<typeof calledSchema>;

/** What a process sends: that it is ready, a call of a handler, and what came of an action. */
export const messageSchema = z.union([
  z.literal('ready'),
  calledSchema,
  z.object({ id: z.number(), error: errorSchema }),
  z.object({ id: z.number(), result: z.unknown() }),
]);
