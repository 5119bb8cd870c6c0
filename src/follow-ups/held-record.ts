import type { FollowUpRecord, FollowUpRecords } from '../journal/follow-up-records.ts';
import { Lease } from '../journal/lease.ts';
import { type FollowUp, type JournalRecord, NO_FOLLOW_UP } from '../journal/record.ts';
import { readClocks } from '../timing.ts';

/** A due record that this process holds for as long as its step takes. */
export class HeldRecord {
  readonly #records: FollowUpRecords;
  readonly #duration: number;
  readonly #joinGroup: () => Promise<void>;
  readonly #lease: Lease<FollowUpRecord>;
  /** Of a notification that came while the record was held. */
  #notified: number | undefined;
  #isFinished = false;

  /** `joinGroup` resolves once others write too, or shortly. */
  constructor(
    records: FollowUpRecords,
    found: FollowUpRecord,
    { duration, joinGroup }: { duration: number; joinGroup: () => Promise<void> },
  ) {
    this.#records = records;
    this.#duration = duration;
    this.#joinGroup = joinGroup;
    const renew = (value: FollowUpRecord) => this.#update(value, this.followUp, duration);
    this.#lease = new Lease(found, { duration, requestedAt: readClocks(), renew });
  }

  get key(): string {
    return this.#lease.value.key;
  }

  get record(): JournalRecord {
    return this.#lease.value.record;
  }

  get entry(): FollowUpRecord['entry'] {
    return this.#lease.value.entry;
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
    this.#lease.release();
  }

  /** Records a step, and goes on holding the record. Returns `false` if the record is lost. */
  async keep(followUp: FollowUp): Promise<boolean> {
    await this.#joinGroup();
    return await this.#lease.writeWithRetries((value) => this.#update(value, followUp, this.#duration));
  }

  /**
   * Records a step, and when the next one is due, in milliseconds, or `null` for never. Returns `false` if the record is
   * lost.
   *
   * @throws {JournalError} if the journal fails again and again. The record is due after its lease then.
   */
  async finish(followUp: FollowUp, dueIn: number | null): Promise<boolean> {
    this.release();
    this.#isFinished = true;
    await this.#joinGroup();
    return await this.#lease.writeWithRetries((value) => this.#update(value, followUp, dueIn));
  }

  /** Makes the record due at once again, unless its step is finished. If the journal cannot be reached, it is due after its lease. */
  async giveBack(): Promise<void> {
    this.release();
    if (this.#isFinished) return;
    await this.#lease.write((value) => this.#update(value, this.followUp, 0)).catch(() => {});
  }

  async #update(
    value: FollowUpRecord,
    given: FollowUp,
    dueIn: number | null,
  ): Promise<FollowUpRecord | null> {
    const followUp = { ...given, notified: this.#notified ?? given.notified };
    const updated = await this.#records.update(value, followUp, dueIn);
    const notified = updated?.record.followUp?.notified;
    if (updated && notified !== followUp.notified) this.#notified = notified;
    return updated;
  }
}
