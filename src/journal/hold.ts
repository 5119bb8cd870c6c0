import { elapsedSince, readClocks, type Timestamp, withDeadline } from '../support/timing.ts';
import type { Found } from './records.ts';

/** How long a write in flight is waited for before the next one, in milliseconds: it might hang. */
const WRITE_TIMEOUT = 1_000;

interface HoldOptions {
  /** How long a write holds the record, in milliseconds. */
  readonly duration: number;
  /** Read before the record was claimed, so that the lease is never taken for longer than it is. */
  readonly requestedAt: Timestamp;
  /** Writes that the record is still held. Resolves with it, or with `null` if it is not this process's any more. */
  readonly renew: (found: Found) => Promise<Found | null>;
  /** Called once the lease is over, at the latest right after the process was frozen. */
  readonly onOver?: () => void;
}

/**
 * A record that this process has claimed. A heartbeat renews the claim three times per lease, so that other processes leave it
 * alone.
 */
export class Hold {
  readonly #duration: number;
  readonly #heartbeat: ReturnType<typeof setInterval>;
  readonly #onOver: (() => void) | undefined;
  #end: ReturnType<typeof setTimeout> | undefined;
  #found: Found;
  #renewedAt: Timestamp;
  #isLost = false;
  /** The write in flight: two at once would compete. */
  #writing: Promise<unknown> | undefined;

  constructor(found: Found, { duration, requestedAt, renew, onOver }: HoldOptions) {
    this.#found = found;
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
    this.#end = setTimeout(onEnd, Math.max(0, this.#duration - elapsedSince(this.#renewedAt)));
  }

  /** The record as this process last read or wrote it. */
  get found(): Found {
    return this.#found;
  }

  /** How long ago the record was read or written, in milliseconds. */
  get age(): number {
    return elapsedSince(this.#renewedAt);
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

  /** Writes after the write in flight. Resolves with the record; `null` if it is not this process's any more. */
  async write(step: (found: Found) => Promise<Found | null>): Promise<Found | null> {
    const before = this.#writing;
    if (before) await withDeadline(WRITE_TIMEOUT, undefined, () => before).catch(() => {});
    if (this.#isLost) return null;
    const requestedAt = readClocks();
    const writing = step(this.#found);
    this.#writing = writing;
    try {
      const found = await writing;
      if (found === null) {
        this.#isLost = true;
        this.#onOver?.();
        return null;
      }
      this.#found = found;
      this.#renewedAt = requestedAt;
      return found;
    } finally {
      if (this.#writing === writing) this.#writing = undefined;
    }
  }
}
