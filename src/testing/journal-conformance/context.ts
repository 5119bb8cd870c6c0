import { type Claim, type ClaimResult, getJournalCore, type JournalCore } from '../../journal/core.ts';
import type { JournalOptions } from '../../journal/create-journal.ts';
import type { Journal } from '../../journal/journal.ts';
import { missingMethodError } from '../../journal/list.ts';
import type { ChargeIntent, Completion } from '../../journal/record.ts';
import type { ResolutionNote } from '../../journal/resolution.ts';
import type { JournalStore } from '../../journal/store.ts';

/** A handle with what the package itself uses of a journal. */
export type Handle = Journal & JournalCore;

/** A handle on the storage, alone or with a function that closes it. */
export type OpenedJournal = Journal | { readonly journal: Journal; close(): unknown };

/**
 * Opens a new handle on a storage, as another process would, with the given `lease`. Each case calls it several times, with one
 * `storage`. No two cases have the same: use it as the name of the table, of the file or of the prefix.
 */
export type OpenJournal = (
  options: JournalOptions,
  storage: string,
) => OpenedJournal | Promise<OpenedJournal>;

/** Cases by name, each of which still needs a storage. */
export type ConformanceCases = Readonly<Record<string, (context: ConformanceContext) => Promise<void>>>;

/** A lease that outlives every case, in milliseconds: with it a handle never reads a claim as expired. */
export const LONG_LEASE = 600_000;
/** A lease that is short enough to wait for, in milliseconds. */
export const SHORT_LEASE = 200;
/** How often to ask, every 50 ms, whether a short lease has expired. A store's clock can be coarse, and a machine slow. */
const LEASE_EXPIRY_ATTEMPTS = 60;

/** The handles of one case, on a storage of its own. */
export class ConformanceContext {
  readonly #open: OpenJournal;
  /** A plain name in each database. */
  readonly #storage = `conformance_${crypto.randomUUID().replaceAll('-', '').slice(0, 16)}`;
  readonly #closers: (() => unknown)[] = [];
  #keys = 0;
  #references = 0;

  constructor(open: OpenJournal) {
    this.#open = open;
  }

  /** Opens a handle, as another process would. Its lease decides when this handle reads a claim as expired. */
  async openHandle(options: JournalOptions = { lease: LONG_LEASE }): Promise<Handle> {
    const opened = await this.#open(options, this.#storage);
    if (!('journal' in opened)) return { ...opened, ...getJournalCore(opened) };
    this.#closers.push(() => opened.close());
    return { ...opened.journal, ...getJournalCore(opened.journal) };
  }

  async openHandles(count: number): Promise<[Handle, ...Handle[]]> {
    const others = Array.from({ length: count - 1 }, () => this.openHandle());
    return [await this.openHandle(), ...(await Promise.all(others))];
  }

  newKey(): string {
    this.#keys++;
    return `order-${this.#keys}`;
  }

  newKeys(count: number): string[] {
    return Array.from({ length: count }, () => this.newKey());
  }

  /** Returns a reference that no key has. A reference belongs to one key for ever. */
  newReference(): string {
    this.#references++;
    return `TXN-${this.#references}x`;
  }

  async closeAll(): Promise<void> {
    for (const close of this.#closers.splice(0)) await close();
  }
}

export const charge: ChargeIntent = {
  operation: 'chargeMobileMoney',
  service: 'digest-of-the-service',
  fingerprint: 'fingerprint-of-the-charge',
  amount: '25.50',
  currency: 'GHS',
  network: 'MTN',
};

/** Who resolves a key, and why. */
export const note: ResolutionNote = { by: 'kofi@shop.example', reason: 'found on the dashboard' };

/** Claims a key, and expects to get the claim. */
export async function expectClaim(
  journal: Handle,
  key: string,
  intent = charge,
  what = 'a key without a claim',
): Promise<Claim> {
  const result = await journal.claim(key, intent);
  assert(result.state === 'claimed', `claim returned ${result.state} for ${what}`);
  return result.claim;
}

/** Claims a key, and expects `state` instead of the claim. */
export async function expectState<State extends ClaimResult['state']>(
  journal: Handle,
  key: string,
  state: State,
  situation: string,
  intent = charge,
): Promise<Extract<ClaimResult, { state: State }>> {
  const result = await journal.claim(key, intent);
  assert(hasState(result, state), `claim returned ${result.state} instead of ${state}: ${situation}`);
  return result;
}

function hasState<State extends ClaimResult['state']>(
  result: ClaimResult,
  state: State,
): result is Extract<ClaimResult, { state: State }> {
  return result.state === state;
}

/** Claims a key from many handles at once. Expects one claim, and `in_progress` for all others. */
export async function expectSingleWinner(handles: Handle[], key: string, situation: string): Promise<void> {
  const results = await Promise.all(
    [...handles, ...handles, ...handles].map((handle) => handle.claim(key, charge)),
  );
  const claims = results.filter(({ state }) => state === 'claimed').length;
  assert(
    claims === 1,
    `${claims} of ${results.length} callers got the claim of ${situation}, instead of one`,
  );
  const others = results.filter(({ state }) => state !== 'claimed' && state !== 'in_progress');
  assert(
    others.length === 0,
    `claim returned ${others[0]?.state} instead of in_progress to a caller without the claim of ${situation}`,
  );
}

/** Claims a key until its `lease` has expired for `journal`. Expects the key to be unknown then. */
export async function expectUnknownAfterLease(
  journal: Handle,
  key: string,
  situation: string,
  lease = SHORT_LEASE,
): Promise<void> {
  const attempts = LEASE_EXPIRY_ATTEMPTS + lease / 50;
  let result = await journal.claim(key, charge);
  for (let attempt = 0; result.state === 'in_progress' && attempt < attempts; attempt++) {
    await sleep(50);
    result = await journal.claim(key, charge);
  }
  const { state } = result;
  assert(state !== 'claimed', `${situation}, and the charge could be sent a second time`);
  assert(
    state === 'unknown',
    `${situation}, and the key is ${state} instead of unknown, long after its lease`,
  );
  const entry = await journal.read(key);
  assert(
    entry?.state === 'unknown' && !entry.inProgress,
    `${situation}, and read returned ${entry?.state} instead of unknown`,
  );
}

/** Claims a key, and waits until the lease of that claim has expired for another handle. */
export async function expireClaim(context: ConformanceContext, lease = SHORT_LEASE) {
  const owner = await context.openHandle();
  const other = await context.openHandle({ lease });
  const key = context.newKey();
  const claim = await expectClaim(owner, key);
  await expectUnknownAfterLease(other, key, 'there was no heartbeat', lease);
  return { owner, other, key, claim };
}

export async function expectHeartbeat(journal: Handle, claim: Claim): Promise<Claim> {
  const renewed = await journal.renew(claim);
  assert(renewed !== null, 'renew returned null, but no other process had the claim');
  return renewed;
}

export async function expectCompletion(journal: Handle, claim: Claim, completion: Completion): Promise<void> {
  const isRecorded = await journal.complete(claim, completion);
  assert(isRecorded, 'complete returned false, but no other process had the claim');
}

/** Claims a key, and records its outcome: by default a charge with a reference that no other key has. */
export async function complete(
  context: ConformanceContext,
  journal: Handle,
  key: string,
  completion: Completion = { state: 'completed', result: { reference: context.newReference() } },
): Promise<void> {
  await expectCompletion(journal, await expectClaim(journal, key), completion);
}

/** Claims a key, and records that its outcome is unknown. */
export async function recordUnknown(
  context: ConformanceContext,
  journal: Handle,
  key: string,
): Promise<void> {
  await complete(context, journal, key, { state: 'unknown', reference: context.newReference() });
}

/** Opens the store of another handle. A store without one of these methods cannot pass. */
export async function openStore<Method extends keyof JournalStore>(
  context: ConformanceContext,
  ...methods: Method[]
): Promise<JournalStore & Required<Pick<JournalStore, Method>>> {
  const { store } = await context.openHandle();
  requireMethods(store, methods);
  return store;
}

function requireMethods<Method extends keyof JournalStore>(
  store: JournalStore,
  methods: readonly Method[],
): asserts store is JournalStore & Required<Pick<JournalStore, Method>> {
  for (const method of methods) if (typeof store[method] !== 'function') throw missingMethodError(method);
}

/** Of a journal whose store has not these methods. It charges all the same. */
export function createWithoutCase(...methods: (keyof JournalStore)[]): ConformanceCases {
  return {
    async [`charges without ${methods.join(' and ')}`](context) {
      const journal = await context.openHandle();
      const key = context.newKey();
      await complete(context, journal, key);
      const present = methods.find((method) => journal.store[method] !== undefined);
      assert(!present, `the journal has ${present}: remove it from "without", so that it is tested`);
      assert((await journal.read(key))?.state === 'completed', 'a completed key does not read as completed');
    },
  };
}

/** @throws {Error} if a journal does not hold what it promises. */
export function assert(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Error(message);
}

export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}
