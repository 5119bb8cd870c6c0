import * as z from 'zod';
import { doomSchema } from './doom.ts';
import { journalKinds } from './kinds.ts';

/** What a worker process is started with. */
export const settingsSchema = z.object({
  seed: z.number(),
  kind: z.enum(journalKinds),
  /** A file, or the URL of a database. */
  place: z.string(),
  baseUrl: z.string(),
  folder: z.string(),
  keys: z.number(),
  workers: z.number(),
  slot: z.number(),
  generation: z.number(),
  lease: z.number(),
  timeout: z.number(),
  /** Whether a person settles keys meanwhile, so that it is worth asking for an unknown one again. */
  person: z.boolean(),
  doom: doomSchema,
});

export type Settings = z.infer<typeof settingsSchema>;
