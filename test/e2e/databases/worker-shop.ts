import * as z from 'zod';
import type { RunningDatabase } from './database.ts';
import { type MiniflareSettings, type RunningWorker, startWorker } from './miniflare.ts';

const responseSchema = z.object({ result: z.optional(z.unknown()), error: z.optional(z.string()) });

const chargeResultSchema = z.object({
  result: z.enum(['completed', 'rejected', 'not_sent', 'unknown', 'conflict', 'failed']),
  reference: z.optional(z.string()),
  replayed: z.optional(z.boolean()),
  message: z.optional(z.string()),
  retryable: z.optional(z.boolean()),
});

export type ChargeResult = z.infer<typeof chargeResultSchema>;

/** The shop of `workers/shop.ts`. */
export interface RunningShop extends RunningWorker {
  /** Runs an action at a place. It rejects with the error of the action. */
  run(place: 'd1' | 'object' | 'legacy', action: string, input?: unknown): Promise<unknown>;
  charge(place: 'd1' | 'object', input: ChargeInput, action?: string): Promise<ChargeResult>;
}

export interface ChargeInput {
  readonly key: string;
  readonly amount?: string;
}

const objects = {
  OBJECTS: { className: 'Shop', useSQLite: true },
  LEGACY: { className: 'Legacy', useSQLite: false },
};
const program = new URL('workers/shop.ts', import.meta.url);

/** Starts what keeps D1 and the objects, for processes outside. */
export async function startHandles(): Promise<RunningDatabase> {
  const { url, kill, start, stop } = await startWorker(program, { hasSpare: true, objects });
  return { place: url, takeAway: kill, bringBack: start, stop };
}

export async function startWorkerShop(bindings: MiniflareSettings['bindings']): Promise<RunningShop> {
  const worker = await startWorker(program, { bindings, objects });
  const run: RunningShop['run'] = async (place, action, input = {}) => {
    const response = await fetch(`${worker.url}/${place}/${encodeURIComponent(action)}`, {
      method: 'POST',
      // A busy process notices late that workerd has closed an idle one.
      headers: { connection: 'close' },
      body: JSON.stringify(input),
    });
    const { result, error } = responseSchema.parse(await response.json());
    if (error !== undefined) throw new Error(error);
    return result;
  };
  return {
    ...worker,
    run,
    charge: async (place, input, action = 'charge') =>
      chargeResultSchema.parse(await run(place, action, input)),
  };
}
