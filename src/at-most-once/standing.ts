import type { ClaimResult, Journal } from '../journal/journal.ts';
import { JournalError } from '../journal/journal-error.ts';
import type { ChargeIntent } from '../journal/record.ts';
import { CallerAborted, DeadlineExceeded, sleep, withTimeout } from '../transport/deadline.ts';
import type { KeyContext } from './doubt.ts';
import { parseClaimResult, type UnreadableRecord } from './from-journal.ts';
import { elapsedSince, readClocks, type Timestamp } from './moment.ts';
import { ABORT_GRACE, JOURNAL_TIMEOUT } from './patience.ts';

/** How often the journal is asked whether another call has ended, in milliseconds. */
const MIN_POLL_DELAY = 25;
const MAX_POLL_DELAY = 500;

/** Where a key stands once no other call is charging under it. */
export type ClaimOutcome = Exclude<ClaimResult, { state: 'in_progress' }> | UnreadableRecord;

/**
 * Claims the key, or says why not. While another call is charging under it, its end is waited for: until the journal, or
 * our own clock, says that nobody was heard of for a whole lease.
 */
export async function acquireClaim(
  journal: Journal,
  key: string,
  attempt: ChargeIntent,
  { subject, signal, onWaiting }: { subject: KeyContext; signal: AbortSignal; onWaiting: () => void },
): Promise<{ standing: ClaimOutcome; askedAt: Timestamp }> {
  let other: { version: string; since: Timestamp } | undefined;
  for (let pause = MIN_POLL_DELAY; ; pause = Math.min(pause * 1.5, MAX_POLL_DELAY)) {
    signal.throwIfAborted();
    const askedAt = readClocks();
    const standing = await tryClaim(journal, key, attempt, { subject, signal });
    if (standing.state !== 'in_progress') return { standing, askedAt };

    if (!other) onWaiting();
    if (other?.version !== standing.version) other = { version: standing.version, since: askedAt };
    // The journal's clock may stand still, or have been set back.
    else if (elapsedSince(other.since) > journal.lease)
      return { standing: { state: 'unknown', reference: undefined }, askedAt };
    await sleep(pause, signal);
  }
}

/** Asks once. A claim that comes too late for the caller is given back. */
async function tryClaim(
  journal: Journal,
  key: string,
  attempt: ChargeIntent,
  { subject, signal }: { subject: KeyContext; signal: AbortSignal },
): Promise<ClaimResult | UnreadableRecord> {
  const { operation } = attempt;
  const standing = parseClaimResult(subject, async () => journal.claim(key, attempt));
  try {
    return await withTimeout(JOURNAL_TIMEOUT, signal, () => standing);
  } catch (fault) {
    if (!(fault instanceof CallerAborted || fault instanceof DeadlineExceeded)) throw fault;
    const givenBack = releaseLateClaim(journal, standing);
    if (fault instanceof DeadlineExceeded) {
      const message = `${operation}: The journal did not answer within ${JOURNAL_TIMEOUT} ms. Nothing was sent.`;
      throw new JournalError(message, { operation, retryable: true });
    }
    await withTimeout(ABORT_GRACE, undefined, () => givenBack).catch(() => {});
    throw fault.reason;
  }
}

/** Nothing was sent under the claim, and nothing will be. Where that cannot be recorded, the key stays in doubt. */
async function releaseLateClaim(
  journal: Journal,
  standing: Promise<ClaimResult | UnreadableRecord>,
): Promise<void> {
  try {
    const late = await standing;
    if (late.state === 'begun') await journal.complete(late.claim, { state: 'not_sent' });
  } catch {}
}
