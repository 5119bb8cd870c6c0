import { brand, type ErrorFacts, PaymentsError } from '../errors.ts';

/**
 * The journal could not be read or written, or refuses what was asked of it. **Nothing was sent.** Where `retryable`,
 * the same call may be made again. `cause` is what the database said.
 */
export class JournalError extends PaymentsError {
  declare readonly name: 'JournalError';
  declare readonly code: 'journal_error';

  constructor(message: string, facts: Omit<ErrorFacts, 'outcome'> = {}) {
    super(message, { ...facts, outcome: 'not_sent' });
  }

  static {
    brand(this, 'JournalError', 'journal_error');
  }
}
