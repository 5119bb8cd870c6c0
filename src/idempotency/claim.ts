import * as z from 'zod/mini';
import type { OperationName } from '../api/operations.ts';
import { JournalError } from '../errors.ts';
import type { Claim, ClaimResult, Journal } from '../journal/journal.ts';
import type { ChargeIntent, Completion } from '../journal/record.ts';
import { redactUnknownSecrets } from '../redact.ts';
import { sanitizeError } from '../sanitize-error.ts';
import {
  CallerAborted,
  DeadlineExceeded,
  elapsedSince,
  readClocks,
  sleep,
  type Timestamp,
  withTimeout,
} from '../timing.ts';
import type { KeyContext } from './send-idempotent.ts';

/**
 * How long a journal is waited for that gives no answer, in milliseconds: a database that hangs must hold up neither a
 * charge that was not sent for ever, nor the result of one that was made.
 */
export const JOURNAL_TIMEOUT = 15_000;

/** After an abort, a journal that is about to answer is still waited for, so that the key is left free and not in doubt. */
const ABORT_GRACE = 1_000;

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

const reference = z.string();
const claimSchema = z.object({
  key: z.string(),
  version: z.string(),
  attempt: z.object({ fingerprint: z.string() }),
});

/** A journal may be anybody's: what it says decides about a charge, so it has to be one of these. */
const standingSchema = z.discriminatedUnion('state', [
  z.object({ state: z.literal('begun'), claim: claimSchema }),
  z.object({ state: z.literal('in_progress'), version: z.string() }),
  z.object({ state: z.literal('completed'), result: z.object({ reference }) }),
  z.object({ state: z.literal('unknown'), reference: z.optional(reference) }),
  z.object({ state: z.literal('conflict') }),
  z.object({ state: z.literal('other_service'), service: z.string() }),
]);

/** The journal was asked, and what it holds of the key is not understood: it may tell of a charge. */
interface UnreadableRecord {
  readonly state: 'unreadable';
  readonly why: string;
  readonly cause: Error | undefined;
}

/** Whatever else a journal throws leaves as a JournalError: nothing is sent where it cannot be recorded. */
async function parseClaimResult(
  subject: KeyContext,
  begin: () => Promise<ClaimResult>,
): Promise<ClaimResult | UnreadableRecord> {
  const answered = (standing: ClaimResult) =>
    standingSchema.safeParse(standing).success
      ? standing
      : unreadable('The journal gave an answer that is none.');
  return begin().then(answered, (fault: unknown) => {
    if (fault instanceof JournalError && fault.outcome === 'unknown')
      return unreadable(messageOf(fault), causeOf(fault));
    throw toJournalError(subject, fault);
  });
}

const unreadable = (why: string, cause?: Error): UnreadableRecord => ({ state: 'unreadable', why, cause });

function toJournalError({ operation, key }: KeyContext, fault: unknown): JournalError {
  const own = fault instanceof JournalError;
  const said = own ? messageOf(fault) : 'The journal failed.';
  return new JournalError(`${operation}, idempotencyKey ${key}: ${said} Nothing was sent.`, {
    operation,
    retryable: own ? fault.retryable : true,
    cause: own ? causeOf(fault) : sanitizeError(fault, redactUnknownSecrets),
  });
}

const messageOf = ({ message }: JournalError) => message.replace(/ Nothing was sent\.$/, '');

const causeOf = ({ cause }: JournalError) =>
  cause === undefined ? undefined : sanitizeError(cause, redactUnknownSecrets);

/** Pauses between the tries to record how a charge ended, in milliseconds. */
const RETRY_DELAYS = [100, 200, 400, 800, 1600];

/** How long a renewal under way is waited for before the end is recorded, in milliseconds. */
const RENEWAL_TIMEOUT = 5_000;

/**
 * A claim while its charge is under way: it is renewed, so that others wait instead of taking its process for dead. Once
 * a whole lease has passed without that, somebody may have settled the key: nothing is sent on it any more.
 */
export class ClaimLease {
  readonly #journal: Journal;
  readonly #heartbeat: ReturnType<typeof setInterval>;
  #claim: Claim;
  #renewedAt: Timestamp;
  #expired = false;
  #renewal: Promise<void> | undefined;

  /** `heardOf`: a moment before the claim was written. */
  constructor(journal: Journal, claim: Claim, heardOf: Timestamp) {
    this.#journal = journal;
    this.#claim = claim;
    this.#renewedAt = heardOf;
    this.#heartbeat = setInterval(() => {
      this.#renewal ??= this.#renew().finally(() => {
        this.#renewal = undefined;
      });
    }, journal.lease / 3);
  }

  /** @throws JournalError where the claim may have passed to somebody else */
  assertHeld(operation: OperationName): void {
    if (!this.#expired && elapsedSince(this.#renewedAt) < this.#journal.lease) return;
    const message = `${operation}: This process was held up, or its journal out of reach, for too long after it had claimed the key. Nothing was sent.`;
    throw new JournalError(message, { operation, retryable: true });
  }

  /** Records how the charge ended. `lost`: somebody else had settled the key. `failed`: it could not be recorded. */
  async end(ending: Completion): Promise<'recorded' | 'lost' | 'failed'> {
    clearInterval(this.#heartbeat);
    try {
      return await withTimeout(JOURNAL_TIMEOUT, undefined, () => this.#record(ending));
    } catch {
      return 'failed';
    }
  }

  async #record(ending: Completion): Promise<'recorded' | 'lost' | 'failed'> {
    const renewal = this.#renewal ?? Promise.resolve();
    await withTimeout(RENEWAL_TIMEOUT, undefined, () => renewal).catch(() => {});
    for (const pause of [0, ...RETRY_DELAYS]) {
      if (pause > 0) await sleep(pause, undefined);
      try {
        return (await this.#journal.complete(this.#claim, ending)) ? 'recorded' : 'lost';
      } catch {}
    }
    return 'failed';
  }

  async #renew(): Promise<void> {
    const asked = readClocks();
    try {
      const renewed = await this.#journal.renew(this.#claim);
      if (renewed) {
        this.#claim = renewed;
        this.#renewedAt = asked;
      } else {
        this.#expired = true;
      }
    } catch {}
  }
}
