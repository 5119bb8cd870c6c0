import {
  APIError,
  AuthenticationError,
  ConfigurationError,
  ConnectionError,
  JournalError,
  NotFoundError,
  PaymentsError,
  PermissionError,
  RequestTimeoutError,
  TransactionMismatchError,
  UnexpectedResponseError,
} from 'payment-collection-client';
import type { JournalEntry } from 'payment-collection-client/journal';

/** An error of `payments.resolve`, for the person at the desk. */
export interface Explanation {
  readonly status: 409 | 422 | 503;
  readonly text: string;
}

/**
 * Explains why a key was not resolved, to the shop's own staff. In each case nothing was changed.
 *
 * @throws the error itself if it is not of the client.
 */
export function explainError(error: unknown, entry: JournalEntry): Explanation {
  if (!(error instanceof PaymentsError)) throw error;
  if (error instanceof NotFoundError) {
    return {
      status: 422,
      text: 'The service has no transaction with this reference. Compare it letter by letter.',
    };
  }
  if (error instanceof TransactionMismatchError) {
    const { amount, currency } = error.transaction;
    const text = `This reference is about ${currency} ${amount}, and the key about ${entry.currency} ${entry.amount}. It is another charge, or the service charged a wrong amount. Ask its support.`;
    return { status: 422, text };
  }
  if (error instanceof JournalError) return explainJournalError(error, entry);
  if (error instanceof AuthenticationError || error instanceof PermissionError) {
    return { status: 503, text: "The service refuses the shop's API key. Tell an engineer." };
  }
  if (isTemporary(error)) {
    return { status: 503, text: 'The service could not be asked. Try again in a minute.' };
  }
  // The message names the setting, the argument or the response that is wrong, and no secret.
  return { status: error instanceof ConfigurationError ? 422 : 503, text: error.message };
}

function explainJournalError(error: JournalError, { inProgress }: JournalEntry): Explanation {
  if (inProgress) {
    return { status: 409, text: 'A process is charging under this key now. Wait some seconds, then reload.' };
  }
  if (error.cause !== undefined) {
    return { status: 503, text: "The shop's database could not be reached. Try again in a minute." };
  }
  // What is recorded speaks against it, such as another key with the reference: the message says what.
  return { status: 409, text: error.message };
}

/** Whether a later attempt can succeed, without a change to the shop. */
function isTemporary(error: PaymentsError): boolean {
  return (
    error instanceof ConnectionError ||
    error instanceof RequestTimeoutError ||
    error instanceof UnexpectedResponseError ||
    (error instanceof APIError && error.retryable)
  );
}
