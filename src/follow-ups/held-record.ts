import { JournalError } from '../errors.ts';
import type { FollowUpRecord, FollowUpRecords } from '../journal/journal.ts';
import { type FollowUp, type JournalRecord, NO_FOLLOW_UP } from '../journal/record.ts';
import { DeadlineExceeded, elapsedSince, readClocks, sleep, withTimeout } from '../timing.ts';

/** How long a step of the journal is waited for, in milliseconds. */
const JOURNAL_TIMEOUT = 15_000;

/** Runs a step of the journal. @throws {JournalError} if it takes too long. */
export async function withJournalTimeout<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await withTimeout(JOURNAL_TIMEOUT, undefined, step);
  } catch (error) {
    if (!(error instanceof DeadlineExceeded)) throw error;
    throw new JournalError(`The journal did not respond within ${JOURNAL_TIMEOUT} ms. Try again.`, {
      operation: 'verify',
      retryable: true,
    });
  }
}

/** Delays before the retries of a write, in milliseconds: what is not recorded is done again. */
const RETRY_DELAYS = [100, 400, 1_600];

/**
 * A due record that this process holds. It is held for as long as its step takes: its lease is renewed at each third. Once
 * another process has changed the record, it is lost, and nothing of this one is written any more.
 */
export class HeldRecord {
  readonly #records: FollowUpRecords;
  readonly #lease: number;
  readonly #heartbeat: ReturnType<typeof setInterval>;
  #current: FollowUpRecord;
  /** Of a notification that came while the record was held. */
  #notified: number | undefined;
  #isLost = false;
  #isFinished = false;
  /** The write in flight, or the latest one: two at once would compete. */
  #write: Promise<unknown> | undefined;

  constructor(records: FollowUpRecords, found: FollowUpRecord, lease: number) {
    this.#records = records;
    this.#current = found;
    this.#lease = lease;
    // A renewal that fails is tried again at the next heartbeat.
    this.#heartbeat = setInterval(() => {
      if (!this.#write) this.#update(this.followUp, lease).catch(() => {});
    }, lease / 3);
  }

  get key(): string {
    return this.#current.key;
  }

  get record(): JournalRecord {
    return this.#current.record;
  }

  get entry(): FollowUpRecord['entry'] {
    return this.#current.entry;
  }

  get followUp(): FollowUp {
    return this.record.followUp ?? NO_FOLLOW_UP;
  }

  /** Whether a notification came while the record was held. */
  get isNotified(): boolean {
    return this.#notified !== undefined;
  }

  /** Ends the heartbeat: the record is no longer held after its lease. */
  release(): void {
    clearInterval(this.#heartbeat);
  }

  /** Records a step, and goes on holding the record. Returns `false` if the record is lost. */
  keep(followUp: FollowUp): Promise<boolean> {
    return this.#save(followUp, this.#lease);
  }

  /**
   * Records a step, and when the next one is due, in milliseconds, or `null` for never. Returns `false` if the record is
   * lost.
   *
   * @throws {JournalError} if the journal fails again and again. The record is due after its lease then.
   */
  finish(followUp: FollowUp, dueIn: number | null): Promise<boolean> {
    this.release();
    this.#isFinished = true;
    return this.#save(followUp, dueIn);
  }

  /** Makes the record due at once again, unless its step is finished. If the journal cannot be reached, it is due after its lease. */
  async giveBack(): Promise<void> {
    this.release();
    if (this.#isFinished) return;
    await this.#write?.catch(() => {});
    await this.#update(this.followUp, 0).catch(() => {});
  }

  async #save(followUp: FollowUp, dueIn: number | null): Promise<boolean> {
    const startedAt = readClocks();
    for (const delay of RETRY_DELAYS) {
      await this.#write?.catch(() => {});
      try {
        return await this.#update(followUp, dueIn);
      } catch (error) {
        const isTemporary = error instanceof JournalError && error.retryable;
        if (!isTemporary || elapsedSince(startedAt) >= JOURNAL_TIMEOUT) throw error;
        await sleep(delay, undefined);
      }
    }
    await this.#write?.catch(() => {});
    return await this.#update(followUp, dueIn);
  }

  async #update(given: FollowUp, dueIn: number | null): Promise<boolean> {
    if (this.#isLost) return false;
    const followUp = { ...given, notified: this.#notified ?? given.notified };
    const write = withJournalTimeout(() => this.#records.update(this.#current, followUp, dueIn));
    this.#write = write;
    try {
      const updated = await write;
      this.#isLost = updated === null;
      if (!updated) return false;
      this.#current = updated;
      const { notified } = this.followUp;
      if (notified !== followUp.notified) this.#notified = notified;
      return true;
    } finally {
      this.#write = undefined;
    }
  }
}
