import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';

/** The result of one call, as its worker logged it. */
const loggedCallSchema = z.object({
  index: z.number(),
  slot: z.number(),
  /** Sent to the service as a header, so that each charge names its call. */
  call: z.string(),
  result: z.enum(['completed', 'rejected', 'not_sent', 'unknown', 'conflict', 'failed']),
  reference: z.string().optional(),
  amount: z.string().optional(),
  /** Whether the call waited for another process that was charging under this key. */
  hasWaited: z.boolean(),
  /** Whether the worker is done with the order. */
  isLast: z.boolean(),
});

export type LoggedCall = z.infer<typeof loggedCallSchema>;

/** Opens a log. Each process writes its own file, so that only the last line of a file can be cut short. */
export function openCallLog(folder: string, generation: number): (call: LoggedCall) => void {
  const file = join(folder, `${generation}.jsonl`);
  return (call) => appendFileSync(file, `${JSON.stringify(call)}\n`);
}

export function readCallLog(folder: string): LoggedCall[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1))
    .map((line) => loggedCallSchema.parse(JSON.parse(line)));
}
