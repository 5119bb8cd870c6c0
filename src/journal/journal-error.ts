import { brand, type ErrorFacts, PaymentsError } from '../errors.ts';

/**
 * The journal could not be read or written, or refuses what was asked of it. **Nothing was sent.** Where `retryable`,
 * the same call may be made again. `cause` is what the database said. `outcome` is `not_sent`, but `unknown` where a
 * record is there that cannot be read: a charge may be what it tells of. A call with an `idempotencyKey` then fails with
 * {@link OutcomeUnknownError}.
 */
export class JournalError extends PaymentsError {
  declare readonly name: 'JournalError';
  declare readonly code: 'journal_error';

  constructor(
    message: string,
    facts: Omit<ErrorFacts, 'outcome'> & { outcome?: 'not_sent' | 'unknown' } = {},
  ) {
    super(message, { ...facts, outcome: facts.outcome ?? 'not_sent' });
  }

  static {
    brand(this, 'JournalError', 'journal_error');
  }
}
