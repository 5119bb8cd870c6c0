import type { Expectation } from '../api/input.ts';
import type { Transaction } from '../api/transaction.ts';
import type { ClientAccess } from '../client-access.ts';
import { NotFoundError, TransactionMismatchError } from '../errors.ts';
import { waitForJournal } from '../journal/call-store.ts';
import type { JournalCore } from '../journal/core.ts';
import type { JournalEntry } from '../journal/journal.ts';
import { type Resolution, type ResolutionNote, validateResolution } from '../journal/resolution.ts';
import type { AskedService } from '../journal/resolve.ts';
import { runAsRead } from '../parse-options.ts';
import { toChecked, toFailedCheck } from './check.ts';
import { assertService, resolveOrigin } from './claim.ts';

interface ResolveCall {
  readonly idempotencyKey: string;
  readonly resolution: Resolution;
  readonly note: ResolutionNote;
  readonly signal: AbortSignal | undefined;
  readonly timeout: number;
}

/**
 * Resolves a payment as a person decides, once the service was asked. A typing error, or a reference of another order, must not
 * turn an unpaid order into a paid one.
 */
export async function resolveAtService(
  access: ClientAccess,
  journal: JournalCore,
  call: ResolveCall,
  verify: (reference: string, expect: Expectation) => Promise<Transaction>,
): Promise<JournalEntry> {
  const { idempotencyKey, resolution, note, signal, timeout } = call;
  // The caller can change it while the service is asked.
  const valid = runAsRead(() => validateResolution(resolution, note));
  const { service } = await resolveOrigin(access, { signal, timeout });
  const asked: AskedService = {
    assertService: (record) => assertService(record, service),
    async check(reference, { amount, currency }) {
      const question = { reference, expect: { amount, currency }, askedAt: 0 };
      try {
        const transaction = await verify(reference, question.expect);
        return pickAnswer(toChecked(question, { transaction, retryAfter: undefined }).finding, undefined);
      } catch (error) {
        if (!(error instanceof NotFoundError || error instanceof TransactionMismatchError)) throw error;
        return pickAnswer(toFailedCheck(question, error).finding, error);
      }
    },
  };
  const resolve = () => journal.resolve(idempotencyKey, valid.resolution, note, asked);
  const { entry, isNew } = await waitForJournal(resolve, { end: signal });
  if (isNew) reportResolved(access, entry, valid.by);
  return entry;
}

type Answer = Awaited<ReturnType<AskedService['check']>>;

function pickAnswer(finding: ReturnType<typeof toChecked>['finding'], error: unknown): Answer {
  if (finding.is === 'answered' || finding.is === 'not_found') return finding;
  throw error;
}

function reportResolved(
  { client }: ClientAccess,
  { key, operation, state, reference }: JournalEntry,
  by: string,
): void {
  client.report({
    type: 'resolved',
    operation,
    idempotencyKey: client.redactReference(key),
    result: state === 'not_charged' || state === 'closed' ? state : 'charged',
    ...(reference === undefined ? {} : { reference }),
    by,
  });
}
