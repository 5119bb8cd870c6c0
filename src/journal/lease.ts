import { elapsedSince, readClocks, sleep, type Timestamp, withDeadline } from '../timing.ts';
import { getLateResult, JOURNAL_TIMEOUT } from './call-store.ts';

/** How long a write in flight is waited for before the next one, in milliseconds: it might hang. */
const WRITE_TIMEOUT = 1_000;

/** Delays before the retries of a write, in milliseconds. */
const RETRY_DELAYS = [100, 200, 400, 800, 1_600];

interface LeaseOptions<T> {
  /** How long a write holds the record, in milliseconds. */
  duration: number;
  /** Read before the record was claimed, so that the lease is never taken for longer than it is. */
  requestedAt: Timestamp;
  /** Writes the record as it is. Resolves with what was written, or with `null` if another process has changed it. */
  renew: (value: T) => Promise<T | null>;
  /** Called once the lease is over, at the latest right after the process was frozen. */
  onOver?: () => void;
}

/**
 * A record that this process has claimed. A heartbeat renews the claim three times per lease, so that other processes
 * leave the record alone. Once one of them has changed it, it is lost, and nothing of this process is written any more.
 */
export class Lease<T> {
  readonly #duration: number;
  readonly #heartbeat: ReturnType<typeof setInterval>;
  readonly #onOver: (() => void) | undefined;
  #end: ReturnType<typeof setTimeout> | undefined;
  #value: T;
  #renewedAt: Timestamp;
  #isLost = false;
  /** The write in flight: two at once would compete. */
  #writing: Promise<unknown> | undefined;

  constructor(value: T, { duration, requestedAt, renew, onOver }: LeaseOptions<T>) {
    this.#value = value;
    this.#duration = duration;
    this.#renewedAt = requestedAt;
    this.#heartbeat = setInterval(() => {
      // A renewal that fails is tried again at the next heartbeat.
      if (!this.#writing) this.write(renew).catch(() => {});
    }, duration / 3);
    this.#onOver = onOver;
    if (onOver) this.#awaitEnd();
  }

  #awaitEnd(): void {
    const onEnd = () => (this.isHeld ? this.#awaitEnd() : this.#onOver?.());
    this.#end = setTimeout(onEnd, this.#duration - elapsedSince(this.#renewedAt));
  }

  /** The record as it was last written. */
  get value(): T {
    return this.#value;
  }

  /** Whether no other process can have claimed the record. */
  get isHeld(): boolean {
    return !this.#isLost && elapsedSince(this.#renewedAt) < this.#duration;
  }

  /** Ends the heartbeat, and what waits for the lease to be over. */
  release(): void {
    clearInterval(this.#heartbeat);
    clearTimeout(this.#end);
  }

  /** Writes once, after the write in flight. Returns `false` if the record is lost. */
  async write(step: (value: T) => Promise<T | null>): Promise<boolean> {
    const before = this.#writing;
    if (before) await withDeadline(WRITE_TIMEOUT, undefined, () => before).catch(() => {});
    if (this.#isLost) return false;
    const requestedAt = readClocks();
    const writing = step(this.#value);
    this.#writing = writing;
    try {
      const written = await writing;
      if (written === null) {
        this.#isLost = true;
        this.#onOver?.();
        return false;
      }
      this.#value = written;
      this.#renewedAt = requestedAt;
      return true;
    } finally {
      if (this.#writing === writing) this.#writing = undefined;
    }
  }

  /**
   * Writes as {@link write} does, with retries: what is not recorded would be done again, or have to be resolved. A write that
   * hangs is not retried, because it might still be done.
   */
  async writeWithRetries(step: (value: T) => Promise<T | null>): Promise<boolean> {
    const startedAt = readClocks();
    for (const delay of RETRY_DELAYS) {
      try {
        return await this.write(step);
      } catch (error) {
        if (getLateResult(error) || elapsedSince(startedAt) >= JOURNAL_TIMEOUT) throw error;
      }
      await sleep(delay, undefined);
    }
    return await this.write(step);
  }
}
