import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';

/** How one call ended, as a worker noted it: the merchant's own books. */
const noteSchema = z.object({
  index: z.number(),
  slot: z.number(),
  /** Told to the service with the request, so that a charge can be laid at its door. */
  call: z.string(),
  ending: z.enum(['completed', 'rejected', 'not_sent', 'unknown', 'conflict', 'failed']),
  reference: z.string().optional(),
  amount: z.string().optional(),
  /** Another process was charging under this key, and its end was waited for. */
  waited: z.boolean(),
  /** The worker is done with the order. */
  last: z.boolean(),
});

export type Note = z.infer<typeof noteSchema>;

/** Each process writes a file of its own, so that what a kill cuts short stands at the end. */
export function noteWriter(folder: string, generation: number): (note: Note) => void {
  const file = join(folder, `${generation}.jsonl`);
  return (note) => appendFileSync(file, `${JSON.stringify(note)}\n`);
}

export function readNotes(folder: string): Note[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1))
    .map((line) => noteSchema.parse(JSON.parse(line)));
}
