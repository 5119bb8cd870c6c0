import { PaymentsError } from '../../errors.ts';
import { sanitizeError } from '../../support/sanitize-error.ts';
import { DeadlineExceeded, withTimeout } from '../../support/timing.ts';
import type { OutputRedaction } from '../../ui/redact-output.ts';
import { escapeUnprintable, quoteForShell } from '../../ui/text.ts';

/** The command cannot go on. The message tells what happened, and the advice what to do. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly advice: string | undefined;

  constructor(message: string, advice?: string) {
    super(message);
    this.advice = advice;
  }
}

/** Returns a command as it is typed in the folder where the package is installed: its name alone is not in the PATH. */
export function describeCommand(words: string, config?: string): string {
  return `npx payment-journal ${words}${config === undefined ? '' : ` --config ${quoteForShell(config)}`}`;
}

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

/** Returns the lines to print of an error that ended a command: never a stack. */
export function describeError(error: unknown, redact: OutputRedaction, canChange = false): string[] {
  if (!(error instanceof CommandError || error instanceof PaymentsError))
    return [describeForeignError(error, redact)];
  const advice = error instanceof CommandError ? error.advice : advise(error, canChange);
  return [toLine(redact.own(error.message)), ...(advice === undefined ? [] : [advice])];
}

/** Returns name and message of what others threw, in one line, without secrets. */
export function describeForeignError(thrown: unknown, redact: OutputRedaction): string {
  const { name, message, code }: Error & { code?: unknown } = sanitizeError(thrown, redact.foreign);
  // An AggregateError, of a name with several addresses, has no message.
  const text = message || String(code ?? '');
  const named = name === 'Error' ? text : `${name}: ${text}`;
  return toLine(named.length > MAX_CHARS ? `${named.slice(0, MAX_CHARS)}…` : named);
}

const MAX_CHARS = 500;

/** Some messages have several lines, such as that of a require that failed. */
function toLine(text: string): string {
  return escapeUnprintable(text.replace(/\s*\n\s*/g, ' ').trim());
}

/** Returns what to do about an error of this package. The service is asked before anything is changed. */
function advise(
  { code, message, nextStep, retryable }: PaymentsError,
  canChange: boolean,
): string | undefined {
  if (code === 'journal_error') {
    if (!retryable) return undefined;
    return canChange
      ? `It might have been recorded. Run ${describeCommand('show')} with this key, then run the command again.`
      : 'Check that the database of the journal is up. Then run the command again.';
  }
  if (!canChange || message.includes('Nothing was changed')) return undefined;
  if (nextStep === 'check')
    return 'The service could not be asked, and nothing was changed. Run the command again later.';
  if (code === 'transaction_mismatch')
    return 'Nothing was changed. The reference is of another payment than the key.';
  if (code === 'authentication_error' || code === 'permission_denied')
    return 'Nothing was changed. Check the API key that the config uses.';
  return 'Nothing was changed.';
}
