import { DeadlineExceeded, withTimeout } from '../timing.ts';
import { CommandError } from './command-error.ts';

/** How long one step can take, in milliseconds. A database that is down must not keep a cron job for ever. */
const STEP_TIMEOUT = 30_000;

/** Runs one step of the command. @throws {CommandError} if `subject` does not finish it in time. */
export async function limitTime<T>(
  subject: string,
  work: () => Promise<T>,
  { timeout = STEP_TIMEOUT, advice }: { timeout?: number; advice?: string } = {},
): Promise<T> {
  try {
    return await withTimeout(timeout, undefined, work);
  } catch (error) {
    if (!(error instanceof DeadlineExceeded)) throw error;
    throw new CommandError(`${subject} did not respond within ${timeout / 1000} s.`, advice);
  }
}

/** Runs one step of the journal. @throws {CommandError} if its database hangs. */
export function limitJournal<T>(work: () => Promise<T>, timeout = STEP_TIMEOUT): Promise<T> {
  return limitTime('The journal', work, { timeout, advice: 'Check that its database is up.' });
}
