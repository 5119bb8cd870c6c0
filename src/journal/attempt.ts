/** An attempt that this process has claimed: the lease while its request is under way, and what came of it. */

import { JournalError } from '../errors.ts';
import { type AttemptOutcome, complete, type MadeCharge, recordClaim, renew } from '../ledger/outcome.ts';
import type { Ask, Owner } from '../ledger/press.ts';
import type { LedgerRecord } from '../ledger/record.ts';
import { SharedAbortController, sleep, type Timestamp } from '../support/timing.ts';
import { Hold } from './hold.ts';
import type { RecordName } from './names.ts';
import type { Found, Records } from './records.ts';
import { claimReference } from './references.ts';

/** What came of a request. Whether its reference can be claimed shows when it is recorded. */
export type RequestOutcome = WithoutClaim<AttemptOutcome>;
type WithoutClaim<T> = T extends unknown ? Omit<T, 'isClaimed'> : never;

export interface AttemptFacts {
  readonly name: RecordName;
  readonly owner: Owner;
  readonly ask: Ask;
}

/** How long an outcome that the journal does not take is tried again, in milliseconds. */
const RECORD_FOR = 10 * 60 * 1000;

/** Delays before these tries, in milliseconds. The last one repeats. */
const RETRY_DELAYS = [100, 200, 400, 800, 1_600, 3_000];

/**
 * A claimed attempt. Once a whole lease has passed without a renewal, a person might have resolved the payment: nothing more is
 * sent then.
 */
export class Attempt {
  readonly facts: AttemptFacts;
  readonly #records: Records;
  readonly #hold: Hold;
  readonly #over = new SharedAbortController();

  /** `requestedAt`: read before the claim was written. */
  constructor(records: Records, facts: AttemptFacts, found: Found, requestedAt: Timestamp) {
    this.facts = facts;
    this.#records = records;
    this.#hold = new Hold(found, {
      duration: records.lease,
      requestedAt,
      renew: (held) => this.#renew(held),
      onOver: () => this.#over.abort(undefined),
    });
  }

  /** Aborted once the lease is over, as soon as a timer can tell. {@link isHeld} tells it at any time. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  get isHeld(): boolean {
    return this.#hold.isHeld;
  }

  /** Records that another request is about to be sent. @throws {JournalError} if the journal fails */
  async recordRequest(requestId: string, assertHeld: () => void): Promise<void> {
    await this.#hold.write((held) => {
      // The lease might have expired while a renewal in flight was waited for.
      assertHeld();
      return this.#renew(held, requestId);
    });
  }

  async #renew(known: Found, requestId?: string): Promise<Found | null> {
    const { name, ask } = this.facts;
    const { found, isLost } = await this.#records.change(
      name,
      (before, now) => {
        const { lease, lead } = this.#records;
        const record = renew(before, ask.attempt, { lease: lease + lead, now, requestId });
        return { record: record ?? before, isLost: record === null };
      },
      { known },
    );
    return isLost ? null : found;
  }

  /** The record as it would be if an outcome had been recorded: for the caller, while the journal takes nothing. */
  expect(outcome: RequestOutcome): LedgerRecord | null {
    const { owner, ask } = this.facts;
    const { record } = this.#hold.found;
    return complete(record, owner, ask, addClaim(outcome, true), this.#records.now).record;
  }

  /**
   * Records what came of the request: its reference is claimed first. What the journal does not take is tried again, for as long as
   * the process lives, and 10 minutes at most.
   */
  async record(outcome: RequestOutcome): Promise<LedgerRecord | null> {
    this.#hold.release();
    return await keepTrying(() => this.#recordOnce(outcome));
  }

  async #recordOnce(outcome: RequestOutcome): Promise<LedgerRecord | null> {
    const { name, owner, ask } = this.facts;
    const reference = findReference(outcome);
    let isClaimed = reference === undefined || (await claimReference(this.#records, name, reference));
    const write = (known: Found) =>
      this.#records.change(
        name,
        (before, now) => complete(before, owner, ask, addClaim(outcome, isClaimed), now),
        { known },
      );
    let claims: string | undefined;
    const found = await this.#hold.write(async (known) => {
      const completed = await write(known);
      claims = completed.claims;
      return completed.found;
    });
    const known = found ?? this.#hold.found;
    const late = found ? { claims, found } : await write(known);
    if (late.claims === undefined || reference === undefined) return late.found.record;
    // It was named in the record by then, so only now is the claim the record's own.
    isClaimed = await claimReference(this.#records, name, reference);
    if (isClaimed && outcome.is !== 'made') return late.found.record;
    const made: MadeCharge =
      outcome.is === 'made' ? { ...outcome, isClaimed } : { is: 'made', result: { reference }, isClaimed };
    const confirmed = await this.#records.change(
      name,
      (before, now) => ({ record: recordClaim(before, ask.attempt, made, now) }),
      { known: late.found },
    );
    return confirmed.found.record;
  }
}

/** Writes what must be recorded. What the journal does not take is tried again. */
export async function keepTrying<T>(write: () => Promise<T>): Promise<T> {
  // Not by the wall clock: one that is set, or a machine that slept, must not leave an outcome unrecorded.
  const startedAt = performance.now();
  for (let tries = 0; ; tries++) {
    try {
      return await write();
    } catch (error) {
      if (performance.now() - startedAt >= RECORD_FOR || !isTemporary(error)) throw error;
    }
    await sleep(RETRY_DELAYS[Math.min(tries, RETRY_DELAYS.length - 1)] ?? 0, undefined);
  }
}

const findReference = (outcome: RequestOutcome) =>
  outcome.is === 'made' ? outcome.result.reference : outcome.is === 'unknown' ? outcome.reference : undefined;

function addClaim(outcome: RequestOutcome, isClaimed: boolean): AttemptOutcome {
  return outcome.is === 'none' ? outcome : { ...outcome, isClaimed };
}

/** What a merchant or a person has to correct does not go away by itself. A driver's own error might. */
const isTemporary = (error: unknown) => error instanceof JournalError && error.outcome !== 'unknown';
