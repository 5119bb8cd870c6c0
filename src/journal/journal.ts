import type { AnyTransaction } from '../errors.ts';
import type { CreateRequest, KeyedCall, ResolveCall } from '../idempotency/keyed-call.ts';
import type { ChargeIntent, Completion, FollowUp, JournalRecord, KeyHistory } from './record.ts';
import type { Resolution, ResolutionNote } from './resolution.ts';

/**
 * The durable record of what was charged, and of what might have been. It makes `idempotencyKey` hold through a crash.
 *
 * The client calls `claim`, `renew` and `complete`, and `read` if its claim was lost. `read`, `list` and `count` are for
 * you. A journal belongs to the service and mode that use it first, and stores a digest of them. For a database of your own,
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
   * Yields the entries of many keys, oldest first, in pages: memory is bounded. A key that is being charged or resolved
   * meanwhile can be left out.
   *
   * @throws {ConfigurationError} if the query is wrong, or if the store has no `list`.
   * @throws {JournalError} if the store fails. If records cannot be read, it yields all others first. Then it throws one error
   * that names their keys.
   *
   * @example
   * ```ts
   * for await (const { key, amount, createdAt } of journal.list({ state: 'unknown' })) console.log(key, amount, createdAt);
   * ```
   */
  list(query?: JournalQuery): AsyncGenerator<JournalEntry, void, void>;
  /** Returns how many keys are in each state. @throws {ConfigurationError} if the store has no `list`. */
  count(): Promise<Record<JournalState, number>>;
  /**
   * Resolves a key as `payments.resolve` does, but does not ask the service: for tests and migrations. It does
   * refuse a reference that is recorded under another key. The same resolution twice is harmless.
   *
   * @throws {JournalError} if there is no such key, if it is in progress (`retryable`), or if the record contradicts it.
   *
   * @example
   * ```ts
   * const note = { by: 'kofi@shop.example', reason: 'migrated from the old table' };
   * await journal.resolve('order-17/1', { reference: 'TXN-8F2K1' }, note);
   * await journal.resolve('order-18/1', 'not_charged', note);
   * ```
   */
  resolve(key: string, resolution: Resolution, note: ResolutionNote): Promise<void>;
  /** What `createFollowUps` of `payment-collection-client/follow-ups` reads and writes. A wrapper passes it on unchanged. */
  readonly followUps: FollowUpRecords;
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
  /** What happened under the key until now. Each write keeps it. */
  readonly history: KeyHistory;
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
  /**
   * The key was used with other input, and a charge of that input might exist. `found` says what is recorded of it, for
   * the message of the error. A journal of your own can leave it out.
   */
  | {
      readonly state: 'conflict';
      readonly found?:
        | { readonly state: 'completed'; readonly reference: string }
        | { readonly state: 'in_progress' | 'unknown'; readonly reference?: string | undefined }
        | undefined;
    }
  /** The journal belongs to another service or mode than `intent.service`, and recorded nothing. */
  | { readonly state: 'other_service'; readonly service: string };

/** The state of a key. See docs/reference/idempotency-states.md. @useDeclaredType */
export type JournalState = JournalRecord['state'];

/** Which keys {@link Journal.list} yields. */
export interface JournalQuery {
  /** `unknown`: the unresolved keys, also those whose process died. @default every state */
  state?: JournalState | undefined;
  /** Only keys that name this transaction. @default any, or none */
  reference?: string | undefined;
  /** How many keys to yield at most. @default Infinity */
  limit?: number | undefined;
}

/** What a journal holds about a key. It has no API key, phone number or email of a customer. */
export interface JournalEntry {
  readonly key: string;
  /** A key in state `begun` whose lease has expired is `unknown`. */
  readonly state: JournalState;
  readonly operation: JournalRecord['operation'];
  /** With two decimals. */
  readonly amount: string;
  readonly currency: string;
  /** Of a Mobile Money charge. */
  readonly network: string | undefined;
  /** When the latest call under the key began, in milliseconds since 1970. */
  readonly createdAt: number;
  /** When the record was last written, in milliseconds since 1970. */
  readonly updatedAt: number;
  /** How many requests were sent under the key, or might have been. */
  readonly attempts: number;
  /** The `X-Request-Id` of each of them, the latest 20: quote them to the service's support. */
  readonly requestIds: readonly string[];
  /** The transaction, if it is known. */
  readonly reference: string | undefined;
  /** Why the latest call failed, if it did: the error's code, and the HTTP status if there was a response. */
  readonly error: { readonly code: string; readonly status: number | null } | undefined;
  /** What persons resolved, oldest first. They are kept for ever. */
  readonly resolutions: KeyHistory['resolutions'];
  /** Whether a process holds the claim now: the same as `state` `begun`. */
  readonly inProgress: boolean;
  /** A digest of base URL and mode. */
  readonly service: string;
  /** How far the follow-up of the payment is; `undefined` before its first step. */
  readonly followUp: FollowUp | undefined;
}

/** The records that are due for a follow-up. It is opaque: `createFollowUps` uses it. */
export interface FollowUpRecords {
  readonly version: 1;
  /**
   * @internal Returns due records, and makes each due again after `lease` milliseconds. `onUnreadable` gets the keys of
   * those that cannot be read.
   */
  claimDue(claim: {
    limit: number;
    lease: number;
    onUnreadable?: (keys: readonly string[]) => void;
  }): Promise<FollowUpRecord[]>;
  /** @internal */
  countDue(): Promise<{ due: number; nextIn: number | null }>;
  /** @internal Returns the records that name a transaction, in upper or lower case. */
  find(reference: string): Promise<FollowUpRecord[]>;
  /**
   * @internal Records a step, and when the next one is due (`null`: never). Returns the record as it is now, or `null` if
   * it was changed meanwhile: it has another state or result, or another process recorded a step. A notification is no
   * step: it is kept.
   */
  update(record: FollowUpRecord, followUp: FollowUp, dueIn: number | null): Promise<FollowUpRecord | null>;
  /** @internal Counts a notification, and makes a completed record due. Returns `false` if it was changed meanwhile. */
  notify(record: FollowUpRecord, dueIn: number): Promise<boolean>;
}

/** @internal A record that a follow-up is about. */
export interface FollowUpRecord {
  readonly key: string;
  /** The version that `update` expects. */
  readonly version: string;
  readonly record: JournalRecord;
  /** What `journal.read` returns. */
  readonly entry: JournalEntry;
}

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
  /** @internal */
  resolve(journal: Journal, call: ResolveCall): Promise<JournalEntry>;
}
