import { ConfigurationError } from '../errors.ts';
import { isObject } from '../untrusted.ts';
import type { FollowUpRecords } from './follow-up-records.ts';
import type { JournalEntry, JournalWarning } from './journal.ts';
import type { ChargeIntent, Completion, KeyHistory, OrderMark } from './record.ts';
import type { JournalStore } from './store.ts';

/** The same symbol in an ES module and in CommonJS: one application can load both. */
export const JOURNAL_CORE: unique symbol = Symbol.for('payment-collection-client.journal');

/** What the package itself uses of a journal. Merchants see the methods of `Journal` only. */
export interface JournalCore {
  /** Of this interface: another version of the package refuses it. */
  readonly version: 1;
  /** How long a claim holds after its last heartbeat, in milliseconds. */
  readonly lease: number;
  readonly store: JournalStore;
  /** Records durably that `intent` is about to be sent, or returns why it must not be sent. */
  claim(key: string, intent: ChargeIntent): Promise<ClaimResult>;
  /** Renews the lease of a claim, and records a request if it is given its id. Returns `null` if the claim no longer holds. */
  renew(claim: Claim, requestId?: string): Promise<Claim | null>;
  /** Records the outcome. Returns `false` if the claim no longer holds. */
  complete(claim: Claim, completion: Completion): Promise<boolean>;
  read(key: string): Promise<JournalEntry | null>;
  /** What follow-ups read and write. */
  readonly followUps: FollowUpRecords;
  /** Returns the settings of the database with which a record could be lost. */
  warnings?: (() => Promise<readonly JournalWarning[]>) | undefined;
}

/** @throws {ConfigurationError} if it is not a journal that this version of the package made. */
export function getJournalCore(journal: unknown): JournalCore {
  const core: unknown =
    isObject(journal) && Object.hasOwn(journal, JOURNAL_CORE)
      ? Reflect.get(journal, JOURNAL_CORE)
      : undefined;
  if (isCore(core)) return core;
  const problem = isObject(core)
    ? 'The journal is of another version of this package: use one version for client and journal.'
    : 'journal must be a journal of this package, such as postgresJournal(pool), or createJournal(store) on a store of ' +
      'your own. It cannot be wrapped or copied.';
  throw new ConfigurationError(problem);
}

const isCore = (value: unknown): value is JournalCore =>
  isObject(value) && 'version' in value && value.version === 1;

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
  /** A person dealt with the payment outside: the key is never charged again. */
  | { readonly state: 'closed'; readonly reference: string | undefined }
  /** A charge might exist: nothing is sent until the key is resolved. */
  | { readonly state: 'unknown'; readonly reference: string | undefined }
  /** The key was used with other input, and a charge of that input might exist: `found` is what is recorded of it. */
  | {
      readonly state: 'conflict';
      readonly found: {
        readonly state: 'completed' | 'in_progress' | 'unknown' | 'closed';
        readonly reference: string | undefined;
      };
    }
  /** The key is used by an order, and the intent is of none or of another payment; or the other way round. */
  | { readonly state: 'other_owner'; readonly order: OrderMark | undefined }
  /** The journal belongs to another service or mode than `intent.service`, and recorded nothing. */
  | { readonly state: 'other_service'; readonly service: string };
