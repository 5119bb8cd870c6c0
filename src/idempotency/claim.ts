import * as z from 'zod/mini';
import { JournalError } from '../errors.ts';
import type { Claim, ClaimResult, Journal } from '../journal/journal.ts';
import { addRequest, type ChargeIntent, type Completion } from '../journal/record.ts';
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
  journal: Journal,
  key: string,
  intent: ChargeIntent,
  { context, signal, onWaiting }: { context: KeyContext; signal: AbortSignal; onWaiting: () => void },
): Promise<AcquiredClaim> {
  let other: { version: string; since: Timestamp } | undefined;
  for (let delay = MIN_POLL_DELAY; ; delay = Math.min(delay * 1.5, MAX_POLL_DELAY)) {
    signal.throwIfAborted();
    const requestedAt = readClocks();
    const outcome = await tryClaim(journal, key, intent, { context, signal });
    if (outcome.state !== 'in_progress') return { outcome, requestedAt, hasWaited: other !== undefined };

    if (!other) onWaiting();
    if (other?.version !== outcome.version) other = { version: outcome.version, since: requestedAt };
    // The journal's clock might stand still, or have been set back.
    else if (elapsedSince(other.since) > journal.lease)
      return { outcome: { state: 'unknown', reference: undefined }, requestedAt, hasWaited: true };
    await sleep(delay, signal);
  }
}

/**
 * How long a step of the journal is waited for, in milliseconds. A database that hangs must not hold back the result of a
 * charge that was made.
 */
export const JOURNAL_TIMEOUT = 15_000;

/** How long a claim is waited for after the caller's abort, in milliseconds, so that it can still be released. */
const ABORT_GRACE = 1_000;

/** Claims once. A claim that is written too late for the caller is released. */
async function tryClaim(
  journal: Journal,
  key: string,
  intent: ChargeIntent,
  { context, signal }: { context: KeyContext; signal: AbortSignal },
): Promise<ClaimResult | UnreadableRecord> {
  const claiming = readClaimResult(context, async () => journal.claim(key, intent));
  try {
    return await withTimeout(JOURNAL_TIMEOUT, signal, () => claiming);
  } catch (error) {
    if (!(error instanceof CallerAborted || error instanceof DeadlineExceeded)) throw error;
    const releasing = releaseLateClaim(journal, claiming);
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
  journal: Journal,
  claiming: Promise<ClaimResult | UnreadableRecord>,
): Promise<void> {
  try {
    const late = await claiming;
    if (late.state === 'claimed') await journal.complete(late.claim, { state: 'not_sent' });
  } catch {}
}

const reference = z.string();
const claimSchema = z.object({
  key: z.string(),
  version: z.string(),
  intent: z.object({ fingerprint: z.string() }),
});

/** A journal can be anyone's code, and its result decides about a charge: nothing else is accepted. */
const claimResultSchema = z.discriminatedUnion('state', [
  z.object({ state: z.literal('claimed'), claim: claimSchema }),
  z.object({ state: z.literal('in_progress'), version: z.string() }),
  z.object({ state: z.literal('completed'), result: z.object({ reference }) }),
  z.object({ state: z.literal('unknown'), reference: z.optional(reference) }),
  z.object({
    state: z.literal('conflict'),
    found: z.optional(
      z.discriminatedUnion('state', [
        z.object({ state: z.literal('completed'), reference }),
        z.object({ state: z.enum(['in_progress', 'unknown']), reference: z.optional(reference) }),
      ]),
    ),
  }),
  z.object({ state: z.literal('other_service'), service: z.string() }),
]);

/** @throws {JournalError} whatever else the journal throws: nothing is sent if it cannot be recorded. */
async function readClaimResult(
  context: KeyContext,
  claim: () => Promise<ClaimResult>,
): Promise<ClaimResult | UnreadableRecord> {
  let result: ClaimResult;
  try {
    result = await claim();
  } catch (error) {
    if (error instanceof JournalError && error.outcome === 'unknown')
      return { state: 'unreadable', why: messageOf(error), cause: causeOf(error) };
    throw toJournalError(context, error);
  }
  if (claimResultSchema.safeParse(result).success) return result;
  return { state: 'unreadable', why: 'The journal returned no valid ClaimResult.', cause: undefined };
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
 * A claim while its request is in flight. A heartbeat renews it three times per lease, so that other processes wait. Once
 * a whole lease has passed without a renewal, a person might have resolved the key: nothing more is sent under it.
 */
export class ClaimLease {
  readonly #journal: Journal;
  readonly #heartbeat: ReturnType<typeof setInterval>;
  #claim: Claim;
  #renewedAt: Timestamp;
  #expired = false;
  #renewal: Promise<void> | undefined;

  /** `requestedAt`: read before the claim was written. */
  constructor(journal: Journal, claim: Claim, requestedAt: Timestamp) {
    this.#journal = journal;
    this.#claim = claim;
    this.#renewedAt = requestedAt;
    this.#heartbeat = setInterval(() => {
      this.#renewal ??= this.#renew().finally(() => {
        this.#renewal = undefined;
      });
    }, journal.lease / 3);
  }

  /** A renewal that fails is tried again at the next heartbeat. */
  async #renew(): Promise<void> {
    const requestedAt = readClocks();
    try {
      const renewed = await this.#journal.renew(this.#claim);
      if (renewed) {
        this.#claim = renewed;
        this.#renewedAt = requestedAt;
      } else {
        this.#expired = true;
      }
    } catch {}
  }

  /**
   * Records that a retry is about to be sent, with the id of its request.
   *
   * @throws {JournalError} if the lease has expired, or if it cannot be recorded: nothing is sent then.
   */
  async recordAttempt(requestId: string, context: KeyContext): Promise<void> {
    this.assertHeld(context);
    await this.#waitForRenewal();
    this.assertHeld(context);
    const { history } = this.#claim;
    const claim = { ...this.#claim, history: addRequest(history, requestId) };
    const requestedAt = readClocks();
    let renewed: Claim | null;
    try {
      renewed = await withTimeout(JOURNAL_TIMEOUT, undefined, async () => this.#journal.renew(claim));
    } catch (error) {
      throw toJournalError(context, error instanceof DeadlineExceeded ? undefined : error);
    }
    if (!renewed) this.#expired = true;
    else {
      this.#claim = renewed;
      this.#renewedAt = requestedAt;
    }
    this.assertHeld(context);
  }

  /** @throws {JournalError} if the lease expired or the claim was lost. */
  assertHeld(context: KeyContext): void {
    if (this.#expired || elapsedSince(this.#renewedAt) >= this.#journal.lease)
      throw leaseExpiredError(context);
  }

  /** Records the outcome. `lost`: the key was resolved meanwhile. `failed`: the journal could not record it. */
  async complete(completion: Completion): Promise<'recorded' | 'lost' | 'failed'> {
    clearInterval(this.#heartbeat);
    try {
      return await withTimeout(JOURNAL_TIMEOUT, undefined, () => this.#record(completion));
    } catch {
      return 'failed';
    }
  }

  /** A renewal in flight would overwrite what is recorded meanwhile. */
  async #waitForRenewal(): Promise<void> {
    const renewal = this.#renewal;
    if (renewal) await withTimeout(RENEWAL_TIMEOUT, undefined, () => renewal).catch(() => {});
  }

  async #record(completion: Completion): Promise<'recorded' | 'lost' | 'failed'> {
    await this.#waitForRenewal();
    for (const delay of [0, ...RETRY_DELAYS]) {
      if (delay > 0) await sleep(delay, undefined);
      try {
        return (await this.#journal.complete(this.#claim, completion)) ? 'recorded' : 'lost';
      } catch {}
    }
    return 'failed';
  }
}

/** How long a renewal in flight is waited for, in milliseconds. */
const RENEWAL_TIMEOUT = 5_000;

/** Delays before the retries of recording an outcome, in milliseconds. */
const RETRY_DELAYS = [100, 200, 400, 800, 1600];
