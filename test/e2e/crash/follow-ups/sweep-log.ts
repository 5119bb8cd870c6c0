import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { steps } from '../watched-store.ts';

/** What a sweeper did, as it logged it right then. */
const sweepEventSchema = z.discriminatedUnion('event', [
  z.object({
    event: z.literal('claimed'),
    /** When the claim was begun: the lease does not end sooner than `lease` milliseconds after it. */
    from: z.number(),
    lease: z.number(),
    keys: z.array(z.string()),
  }),
  /** The journal has confirmed a step. */
  z.object({
    event: z.literal('recorded'),
    key: z.string(),
    step: z.enum(steps),
    /** When the next step is due, in milliseconds since 1970. */
    dueAt: z.nullable(z.number()),
  }),
  z.object({
    event: z.literal('onFinal'),
    key: z.string(),
    reference: z.string(),
    status: z.string(),
    amount: z.string(),
    currency: z.string(),
  }),
  z.object({
    event: z.literal('onAttention'),
    key: z.string(),
    reason: z.string(),
    reference: z.optional(z.string()),
  }),
  z.object({ event: z.literal('threw'), key: z.string(), handler: z.enum(['onFinal', 'onAttention']) }),
  /** A webhook is about to make the payment due, has done so, or cannot: another process has changed the record. */
  z.object({ event: z.enum(['notifying', 'notified', 'not notified']), key: z.string() }),
  /** A sweep rejected, or `run` paused. */
  z.object({ event: z.literal('failed'), message: z.string() }),
]);

export type SweepEvent = z.infer<typeof sweepEventSchema>;

const loggedSchema = z.intersection(sweepEventSchema, z.object({ at: z.number(), generation: z.number() }));

/** `at` is in milliseconds since 1970. */
export type LoggedEvent = z.infer<typeof loggedSchema>;

const folderOf = (folder: string) => join(folder, 'sweeps');

/** Opens the log of one process. Each process writes its own file, so that only the last line can be cut short. */
export function openSweepLog(folder: string, generation: number): (event: SweepEvent) => void {
  const file = join(folderOf(folder), `${generation}.jsonl`);
  return (event) => appendFileSync(file, `${JSON.stringify({ at: Date.now(), generation, ...event })}\n`);
}

/** Returns all events in the order in which they were logged. */
export function readSweepLog(folder: string): LoggedEvent[] {
  return readdirSync(folderOf(folder))
    .flatMap((name) =>
      readFileSync(join(folderOf(folder), name), 'utf8')
        .split('\n')
        .slice(0, -1),
    )
    .map((line) => loggedSchema.parse(JSON.parse(line)))
    .sort((one, other) => one.at - other.at);
}
