import type { FollowUpRecord, Journal } from '../../journal/journal.ts';
import { assert, sleep } from './assert.ts';

/** For how long the cases claim what is due, in milliseconds: all for the same time, since each claims the others' records. */
export const DUE_LEASE = 300;
/** How long to wait for a record to become due, in milliseconds. A store's clock can be coarse, and a machine slow. */
const DUE_TIMEOUT = 5_000;
const PAGE_SIZE = 100;

/** One claim of a due record. The store made it between two times of this process. */
export interface DueClaim {
  readonly record: FollowUpRecord;
  readonly startedAt: number;
  readonly endedAt: number;
  /** How many were claimed before it. */
  readonly position: number;
}

/** What a case can claim in its turn. */
export interface DueTurn {
  /** Claims all that is due, through several handles at once. */
  claimAll(...journals: Journal[]): Promise<void>;
  /** Claims `limit` records at most. */
  claimPage(journal: Journal, limit: number): Promise<readonly FollowUpRecord[]>;
}

/**
 * What is due in one storage. `claimDue` returns the records of all cases, so no case can claim only its own. One case claims
 * at a time, all that is due, and each case then looks for its own records.
 */
export class DueRecords {
  readonly #claims = new Map<string, DueClaim[]>();
  #turn: Promise<unknown> = Promise.resolve();
  #position = 0;

  /** Runs work while no other case claims. */
  async takeTurn<T>(work: (turn: DueTurn) => Promise<T>): Promise<T> {
    const turn = this.#turn.then(() =>
      work({
        claimAll: async (...journals) => {
          await Promise.all(journals.map((journal) => this.#claimAll(journal)));
        },
        claimPage: (journal, limit) => this.#claimPage(journal, limit),
      }),
    );
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** Claims all that is due, and returns how often that has returned the key since `forget`. */
  async countClaims(journal: Journal, key: string): Promise<number> {
    await this.takeTurn(({ claimAll }) => claimAll(journal));
    return this.claimsOf(key).length;
  }

  /** Claims until a key has been returned, since `forget`. */
  async waitForClaim(journal: Journal, key: string, situation: string): Promise<DueClaim> {
    const since = performance.now();
    for (;;) {
      const [claim] = this.claimsOf(key);
      if (claim) return claim;
      const elapsed = performance.now() - since;
      assert(elapsed < DUE_TIMEOUT, `claimDue never returned a record that is due: ${situation}`);
      if ((await this.countClaims(journal, key)) === 0) await sleep(20);
    }
  }

  /** Returns the claims of a key since `forget`, as they were returned. */
  claimsOf(key: string): readonly DueClaim[] {
    return this.#claims.get(key) ?? [];
  }

  /** Forgets the claims of a key, because it is due at another time now. */
  forget(key: string): void {
    this.#claims.delete(key);
  }

  async #claimAll(journal: Journal): Promise<void> {
    const claimed = new Set<string>();
    for (;;) {
      const records = await this.#claimPage(journal, PAGE_SIZE);
      // If a storage has more records than are claimed within the lease, the first are due again.
      if (records.length === 0 || records.some(({ key }) => claimed.has(key))) return;
      for (const { key } of records) claimed.add(key);
    }
  }

  async #claimPage(journal: Journal, limit: number): Promise<readonly FollowUpRecord[]> {
    const startedAt = performance.now();
    let unreadable = 0;
    const onUnreadable = (keys: readonly string[]) => {
      unreadable += keys.length;
    };
    const records = await journal.followUps.claimDue({ limit, lease: DUE_LEASE, onUnreadable });
    const endedAt = performance.now();
    const count = records.length + unreadable;
    assert(count <= limit, `claimDue returned ${count} records, and its limit was ${limit}`);
    for (const record of records) {
      const claim = { record, startedAt, endedAt, position: this.#position++ };
      this.#claims.set(record.key, [...this.claimsOf(record.key), claim]);
    }
    return records;
  }
}
