import * as z from 'zod';
import { JournalError, PaymentsError } from '../../../src/index.ts';
import { PATIENCE } from '../../helpers/patience.ts';
import { loadDatabase } from './load-database.ts';
import { chargeOrder, createClient } from './shop.ts';

/** One process, and what it is to do. */
export const chargeAtOnceSchema = z.object({
  kind: z.string(),
  place: z.string(),
  baseUrl: z.string(),
  key: z.string(),
  callers: z.number(),
});

/** What one caller got: a reference, or an error. */
export const callResultSchema = z.object({
  reference: z.optional(z.string()),
  error: z.optional(z.string()),
  outcome: z.optional(z.nullable(z.string())),
  message: z.optional(z.string()),
});

export type CallResult = z.infer<typeof callResultSchema>;

/** Opens a handle, waits for `start`, and charges one order by many callers at once. */
export async function chargeAtOnce(
  { kind, place, baseUrl, key, callers }: z.infer<typeof chargeAtOnceSchema>,
  start: () => Promise<unknown>,
): Promise<CallResult[]> {
  const database = await loadDatabase(kind);
  // On a busy machine a heartbeat, or the response, can be read late among so many callers. No process dies here.
  const { journal, close } = await database.open(place, { lease: 120_000 });
  const payments = createClient({ baseUrl, journal });
  const calledAt = performance.now();
  const call = async (): Promise<CallResult> => {
    try {
      return { reference: await chargeOrder(payments, key) };
    } catch (error) {
      if (!(error instanceof PaymentsError)) throw error;
      const { name, outcome, message } = error;
      const isRefused = error instanceof JournalError && outcome === 'not_sent';
      if (isRefused && performance.now() - calledAt < PATIENCE) return call();
      return { error: name, outcome, message };
    }
  };
  try {
    await start();
    return await Promise.all(Array.from({ length: callers }, call));
  } finally {
    payments.close();
    await close();
  }
}
