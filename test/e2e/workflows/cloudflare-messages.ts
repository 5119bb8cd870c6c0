import { z } from 'zod';

/** What the program of the tests gets as its argument, as JSON. */
export const settingsSchema = z.object({
  /** Miniflare's files. */
  folder: z.string(),
  /** The bundled worker. */
  script: z.string(),
  /** Variables and secrets, besides those of wrangler.jsonc. */
  vars: z.record(z.string(), z.string()),
});

/** A message to the program. */
export const commandSchema = z.object({
  number: z.number(),
  command: z.enum(['query', 'cron']),
  argument: z.string(),
});

/** A message of the program: once that it serves, then one for each command. */
export const replySchema = z.union([
  z.object({ url: z.string() }),
  z.object({ number: z.number(), result: z.unknown() }),
  z.object({ number: z.number(), error: z.string() }),
]);

export type HostSettings = z.infer<typeof settingsSchema>;
export type HostCommand = z.infer<typeof commandSchema>['command'];
