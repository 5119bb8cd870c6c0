import type { CallsInFlight } from '../calls-in-flight.ts';
import { JournalError } from '../errors.ts';
import { JOURNAL_TIMEOUT } from '../journal/call-store.ts';
import type { Claim, ClaimResult, JournalCore } from '../journal/core.ts';
import { Lease } from '../journal/lease.ts';
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
import { type KeyContext, leaseExpiredError } from './key-errors.ts';

/** What a key allows once no other call is charging under it. */
type ClaimOutcome = Exclude<ClaimResult, { state: 'in_progress' }> | UnreadableRecord;

/** The journal has a record of the key that cannot be read: a charge might exist. */
interface UnreadableRecord {
  readonly state: 'unreadable';
  readonly why: string;
  readonly cause: Error | undefined;
}

export interface AcquiredClaim {
  readonly outcome: ClaimOutcome;
  /** Read before the journal wrote the claim, so the lease is never taken for longer than it is. */
  readonly requestedAt: Timestamp;
  /** Whether another call was charging under the key. */
  readonly hasWaited: boolean;
}

/** Delays between two claims while another call is charging under the key, in milliseconds. */
const MIN_POLL_DELAY = 25;
const MAX_POLL_DELAY = 500;

/**
 * Claims the key, or returns why it must not be claimed. While another call is charging under the key, its end is waited
 * for: until the journal, or this process's own clock, shows no heartbeat for a whole lease.
 */
export async function acquireClaim(
  journal: JournalCore,
  key: string,
  intent: ChargeIntent,
  { onWaiting, ...how }: ClaimOptions & { onWaiting: () => void },
): Promise<AcquiredClaim> {
  const { signal } = how;
  let other: { version: string; since: Timestamp } | undefined;
  for (let delay = MIN_POLL_DELAY; ; delay = Math.min(delay * 1.5, MAX_POLL_DELAY)) {
    signal.throwIfAborted();
    const requestedAt = readClocks();
    const outcome = await tryClaim(journal, key, intent, how);
    if (outcome.state !== 'in_progress') return { outcome, requestedAt, hasWaited: other !== undefined };

    if (!other) onWaiting();
    if (other?.version !== outcome.version) other = { version: outcome.version, since: requestedAt };
    // The journal's clock might stand still, or have been set back.
    else if (elapsedSince(other.since) > journal.lease)
      return { outcome: { state: 'unknown', reference: undefined }, requestedAt, hasWaited: true };
    await sleep(delay, signal);
  }
}

interface ClaimOptions {
  readonly context: KeyContext;
  readonly signal: AbortSignal;
  readonly calls: CallsInFlight;
}

/** How long the journal is waited for after the caller's abort, in milliseconds, so that a claim can still be released. */
const ABORT_GRACE = 1_000;

/** Claims once. A claim that is written too late for the caller is released. */
async function tryClaim(
  journal: JournalCore,
  key: string,
  intent: ChargeIntent,
  { context, signal, calls }: ClaimOptions,
): Promise<ClaimResult | UnreadableRecord> {
  const claiming = readClaimResult(context, async () => journal.claim(key, intent));
  try {
    return await withTimeout(JOURNAL_TIMEOUT, signal, () => claiming);
  } catch (error) {
    if (!(error instanceof CallerAborted || error instanceof DeadlineExceeded)) throw error;
    // The call ends before this does, and a client that is closed waits for it.
    const releasing = calls.track(() => releaseLateClaim(journal, claiming), context.operation, key);
    if (error instanceof DeadlineExceeded) {
      const { operation } = context;
      const message = `${operation}: The journal did not respond within ${JOURNAL_TIMEOUT} ms. Nothing was sent.`;
      throw new JournalError(message, { operation, retryable: true });
    }
    await withTimeout(ABORT_GRACE, undefined, () => releasing).catch(() => {});
    throw error.reason;
  }
}

/**
 * Completes a claim under which nothing was sent, nor will be. A crash before that leaves `begun`: the key stays
 * unresolved although there is no charge.
 */
async function releaseLateClaim(
  journal: JournalCore,
  claiming: Promise<ClaimResult | UnreadableRecord>,
): Promise<void> {
  try {
    const late = await claiming;
    if (late.state === 'claimed') await journal.complete(late.claim, { state: 'not_sent' });
  } catch {}
}

/** @throws {JournalError} whatever else the journal throws: nothing is sent if it cannot be recorded. */
async function readClaimResult(
  context: KeyContext,
  claim: () => Promise<ClaimResult>,
): Promise<ClaimResult | UnreadableRecord> {
  try {
    return await claim();
  } catch (error) {
    if (error instanceof JournalError && error.outcome === 'unknown')
      return { state: 'unreadable', why: messageOf(error), cause: causeOf(error) };
    throw toJournalError(context, error);
  }
}

function toJournalError({ operation, quotedKey }: KeyContext, error: unknown): JournalError {
  const isOwn = error instanceof JournalError;
  const message = isOwn ? messageOf(error) : 'The journal failed.';
  return new JournalError(`${operation}, idempotencyKey ${quotedKey}: ${message} Nothing was sent.`, {
    operation,
    retryable: isOwn ? error.retryable : true,
    cause: isOwn ? causeOf(error) : sanitizeError(error, redactUnknownSecrets),
  });
}

const messageOf = ({ message }: JournalError) => message.replace(/ Nothing was sent\.$/, '');

const causeOf = ({ cause }: JournalError) =>
  cause === undefined ? undefined : sanitizeError(cause, redactUnknownSecrets);

/**
 * A claim while its request is in flight. Once a whole lease has passed without a renewal, a person might have resolved the
 * key: nothing more is sent under it.
 */
export class ClaimLease {
  readonly #journal: JournalCore;
  readonly #lease: Lease<Claim>;
  readonly #over = new AbortController();

  /** `requestedAt`: read before the claim was written. */
  constructor(journal: JournalCore, claim: Claim, requestedAt: Timestamp) {
    this.#journal = journal;
    const renew = (held: Claim) => journal.renew(held);
    const onOver = () => this.#over.abort();
    this.#lease = new Lease(claim, { duration: journal.lease, requestedAt, renew, onOver });
  }

  /** Aborted once the lease is over, as soon as a timer can tell. {@link isHeld} tells it at any time. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  get isHeld(): boolean {
    return this.#lease.isHeld;
  }

  /**
   * Records that a retry is about to be sent, with the id of its request.
   *
   * @throws {JournalError} if the lease has expired, or if it cannot be recorded: nothing is sent then.
   */
  async recordAttempt(requestId: string, context: KeyContext): Promise<void> {
    this.assertHeld(context);
    try {
      await this.#lease.write((claim) => {
        // The lease might have expired while a renewal in flight was waited for.
        this.assertHeld(context);
        return this.#journal.renew(claim, requestId);
      });
    } catch (error) {
      this.assertHeld(context);
      throw toJournalError(context, error);
    }
    this.assertHeld(context);
  }

  /** @throws {JournalError} if the lease expired or the claim was lost. */
  assertHeld(context: KeyContext): void {
    if (!this.isHeld) throw leaseExpiredError(context);
  }

  /**
   * Records the outcome. `lost`: the key was resolved meanwhile. `failed`: the journal could not record it in time. If nothing
   * was sent, it is waited for only shortly after the caller's abort.
   */
  async complete(completion: Completion, signal?: AbortSignal): Promise<'recorded' | 'lost' | 'failed'> {
    this.#lease.release();
    const record = async (claim: Claim) => ((await this.#journal.complete(claim, completion)) ? claim : null);
    const recording = this.#lease.writeWithRetries(record);
    const recorded = () => recording;
    const end = completion.state === 'not_sent' ? signal : undefined;
    try {
      const isRecorded = await withTimeout(JOURNAL_TIMEOUT, end, recorded).catch((error: unknown) => {
        if (error instanceof CallerAborted) return withTimeout(ABORT_GRACE, undefined, recorded);
        throw error;
      });
      return isRecorded ? 'recorded' : 'lost';
    } catch {
      return 'failed';
    }
  }
}
