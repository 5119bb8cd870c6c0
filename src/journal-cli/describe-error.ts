import { PaymentsError } from '../errors.ts';
import { sanitizeError } from '../sanitize-error.ts';
import { CommandError } from './command-error.ts';
import { COMMAND } from './command-line.ts';
import { escapeUnprintable } from './printable-text.ts';
import type { OutputRedaction } from './redact-output.ts';

/** An error as it is printed: never with a stack. */
export interface ErrorText {
  readonly message: string;
  readonly advice: string | undefined;
}

/** Returns what to print of an error that ended a command: `isResolving` if it might have changed the journal. */
export function describeError(error: unknown, redact: OutputRedaction, isResolving = false): ErrorText {
  if (error instanceof CommandError) {
    const { message, advice } = error;
    return { message: toLine(redact.own(message)), advice };
  }
  if (error instanceof PaymentsError) {
    return { message: toLine(redact.own(error.message)), advice: adviseAbout(error, isResolving) };
  }
  return { message: describeForeignError(error, redact), advice: undefined };
}

/** Returns name and message of what others threw, in one line, without secrets. */
export function describeForeignError(thrown: unknown, redact: OutputRedaction): string {
  const { name, message, code }: Error & { code?: unknown } = sanitizeError(thrown, redact.foreign);
  // An AggregateError, of a name with several addresses, has no message.
  const text = message || String(code ?? '');
  const named = name === 'Error' ? text : `${name}: ${text}`;
  return toLine(truncate(named));
}

const MAX_CHARS = 500;

function truncate(text: string): string {
  return text.length > MAX_CHARS ? `${text.slice(0, MAX_CHARS)}…` : text;
}

/** Some messages have several lines, such as that of a require that failed. */
function toLine(text: string): string {
  return escapeUnprintable(text.replace(/\s*\n\s*/g, ' ').trim());
}

/** Returns what to do about an error of this package. The service is asked before anything is changed. */
function adviseAbout(error: PaymentsError, isResolving: boolean): string | undefined {
  switch (error.code) {
    case 'not_found':
      return 'Nothing was changed. Compare the reference with the records of the service.';
    case 'transaction_mismatch':
      return 'Nothing was changed. The reference is of another payment than the key.';
    case 'authentication_error':
    case 'permission_denied':
      return 'Nothing was changed. Check the API key that the config uses.';
    case 'connection_error':
    case 'request_timeout':
    case 'rate_limited':
    case 'server_error':
    case 'unexpected_response':
      return 'The service could not be asked, and nothing was changed. Run the command again later.';
    case 'configuration_error':
      return isResolving && !error.message.includes('Nothing was changed')
        ? 'Nothing was changed.'
        : undefined;
    case 'journal_error':
      return adviseAboutJournal(error, isResolving);
    default:
      return undefined;
  }
}

function adviseAboutJournal({ retryable }: PaymentsError, isResolving: boolean): string | undefined {
  if (!retryable) return undefined;
  return isResolving
    ? `Run ${COMMAND} show with this key to see what is recorded. Then run the command again.`
    : 'Check that the database of the journal is up. Then run the command again.';
}
