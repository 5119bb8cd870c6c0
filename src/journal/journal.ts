import type { AnyTransaction } from '../errors.ts';
import type { CreateRequest, KeyedCall } from '../idempotency/keyed-call.ts';
import type { ChargeIntent, Completion, JournalRecord, Resolution } from './record.ts';

/**
 * The durable record of what was charged, and of what might have been. It makes `idempotencyKey` hold through a crash.
 *
 * The client calls `claim`, `renew` and `complete`, and `read` if its claim was lost. `resolve` and `read` are for you. A
 * journal belongs to the service and mode that use it first, and stores a digest of them. For a database of your own,
 * give `createJournal` a `JournalStore`. To wrap a journal, spread it: `{ ...journal, claim: … }`.
 */
export interface Journal {
  /** @see JournalOptions.lease */
  readonly lease: number;
  /** How the client charges at most once. A journal brings it along; a wrapper passes it on unchanged. */
  readonly protocol: Protocol;
  /**
   * Records durably that `intent` is about to be sent, or returns why it must not be sent. `intent.service` is a digest of
   * base URL and mode: the first one is kept for ever, and any other is refused as `other_service`.
   */
  claim(key: string, intent: ChargeIntent): Promise<ClaimResult>;
  /** Renews the lease of a claim. Returns `null` if the claim no longer holds. */
  renew(claim: Claim): Promise<Claim | null>;
  /** Records the outcome. Returns `false` if the claim no longer holds. */
  complete(claim: Claim, completion: Completion): Promise<boolean>;
  /** Returns what is recorded of a key, or `null`. */
  read(key: string): Promise<JournalEntry | null>;
  /**
   * Resolves a key whose outcome is unknown, once a person has found out: the charge exists, by its `reference`, or it does
   * not. With `not_charged` the key is free, also for other input. The same resolution twice is harmless.
   *
   * @throws {JournalError} if there is no such key, if it is in progress (`retryable`), or if the record contradicts it.
   *
   * @example
   * ```ts
   * await journal.resolve('order-17', { reference: 'TXN-8F2K1' });
   * await journal.resolve('order-18', 'not_charged');
   * ```
   */
  resolve(key: string, resolution: Resolution): Promise<void>;
  /**
   * Returns the settings of the database with which a record could be lost. The client reads them once, in the background,
   * and reports each to `onEvent` and `logger`. A journal that cannot know leaves the method out.
   */
  warnings?(): Promise<readonly JournalWarning[]>;
}

/** Permission to send, as long as `version` is the version of the record. */
export interface Claim {
  readonly key: string;
  readonly version: string;
  readonly intent: ChargeIntent;
}

/** Whether a key could be claimed, and if not, why. */
export type ClaimResult =
  /** The key is `begun`, and this process may send. */
  | { readonly state: 'claimed'; readonly claim: Claim }
  /** Another process holds the claim. `version` changes with each of its renewals. */
  | { readonly state: 'in_progress'; readonly version: string }
  /** The charge was made: its result is replayed. */
  | { readonly state: 'completed'; readonly result: { readonly reference: string } }
  /** A charge might exist: nothing is sent until the key is resolved. */
  | { readonly state: 'unknown'; readonly reference: string | undefined }
  /** The key was used with other input, and a charge of that input might exist. */
  | { readonly state: 'conflict' }
  /** The journal belongs to another service or mode than `intent.service`, and recorded nothing. */
  | { readonly state: 'other_service'; readonly service: string };

/** What a journal holds about a key. A key in state `begun` whose lease has expired is `unknown`. */
export type JournalEntry = JournalRecord & {
  /** Whether a process holds the claim now: the same as `state` `begun`. */
  readonly inProgress: boolean;
};

/** A setting of the database with which a record could be lost. */
export interface JournalWarning {
  readonly setting: string;
  readonly value: string;
  /** What can be lost, and what to set instead. */
  readonly message: string;
}

/**
 * The at-most-once protocol between a client and a journal. It is opaque: `createJournal` puts it into a journal,
 * and a client without a journal does not load it.
 */
export interface Protocol {
  /** The version of what client and protocol pass to each other. A client refuses any other. */
  readonly version: 1;
  /** @internal */
  send<Input, Request extends CreateRequest, Result extends AnyTransaction>(
    journal: Journal,
    call: KeyedCall<Input, Request, Result>,
  ): Promise<Result>;
}
