import { JournalError } from '../../errors.ts';
import type { JournalOptions } from '../../journal/create-journal.ts';
import type { Claim, ClaimResult, Journal } from '../../journal/journal.ts';
import type { ChargeIntent } from '../../journal/record.ts';
import type { OpenJournal } from './index.ts';

/** A case before it is given a storage. */
export interface ConformanceTest {
  readonly name: string;
  play(stage: ConformanceContext): Promise<void>;
}

/** Longer than any case takes: whoever is asked with it never takes a charge for left. */
export const LONG = 600_000;
/** Short enough to wait for. */
export const SHORT = 200;
/** A store's clock may be coarse, and the machine slow. */
const PATIENCE = 3_000;

/** The handles of one case, and keys that no other case has. */
export class ConformanceContext {
  readonly #open: OpenJournal;
  readonly #id = crypto.randomUUID();
  readonly #closing: (() => unknown)[] = [];
  #keys = 0;

  constructor(open: OpenJournal) {
    this.#open = open;
  }

  /** A handle as a process of its own has it. The lease is the reader's: it decides when *this* handle gives others up. */
  async handle(options: JournalOptions = { lease: LONG }): Promise<Journal> {
    const opened = await this.#open(options);
    if (!('journal' in opened)) return opened;
    this.#closing.push(() => opened.close());
    return opened.journal;
  }

  handles(count: number): Promise<Journal[]> {
    return Promise.all(Array.from({ length: count }, () => this.handle()));
  }

  key(): string {
    this.#keys++;
    return `conformance-${this.#id}-${this.#keys}`;
  }

  keys(count: number): string[] {
    return Array.from({ length: count }, () => this.key());
  }

  async closeAll(): Promise<void> {
    for (const close of this.#closing.splice(0)) await close();
  }
}

export const charge: ChargeIntent = {
  operation: 'chargeMobileMoney',
  service: 'digest-of-the-service',
  fingerprint: 'fingerprint-of-the-charge',
  amount: '25.50',
  currency: 'GHS',
};
export const otherInput: ChargeIntent = {
  ...charge,
  fingerprint: 'fingerprint-of-other-input',
  amount: '40.00',
};

export function assert(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(otherwise);
}

/** Begins, and has to be given the claim. */
export async function expectClaim(
  journal: Journal,
  key: string,
  attempt = charge,
  when = '',
): Promise<Claim> {
  const standing = await journal.claim(key, attempt);
  assert(standing.state === 'claimed', `begin${when} gave ${standing.state}, but nobody else had a claim`);
  return standing.claim;
}

/** Begins, and has to be told `state`. */
export async function expectState<State extends ClaimResult['state']>(
  journal: Journal,
  key: string,
  state: State,
  when: string,
  attempt = charge,
): Promise<Extract<ClaimResult, { state: State }>> {
  const standing = await journal.claim(key, attempt);
  assert(isIn(standing, state), `begin gave ${standing.state} instead of ${state}: ${when}`);
  return standing;
}

function isIn<State extends ClaimResult['state']>(
  standing: ClaimResult,
  state: State,
): standing is Extract<ClaimResult, { state: State }> {
  return standing.state === state;
}

/** Asks, with the lease of `journal`, until whoever began the key is given up; that has to leave it in doubt. */
export async function expectUnknownAfterLease(journal: Journal, key: string, when: string): Promise<void> {
  const since = performance.now();
  let standing = await journal.claim(key, charge);
  while (standing.state === 'in_progress' && performance.now() - since < PATIENCE) {
    await sleep(50);
    standing = await journal.claim(key, charge);
  }
  const { state } = standing;
  assert(state !== 'claimed', `${when}, and the charge could be sent once more`);
  assert(state === 'unknown', `${when}, and the key is ${state} instead of unknown, long after the lease`);
  const entry = await journal.read(key);
  assert(
    entry?.state === 'unknown' && !entry.inProgress,
    `${when}, and read shows ${entry?.state} instead of unknown`,
  );
}

/** What `resolve` fails with, which has to be a JournalError. */
export async function expectRejection(settling: Promise<void>, when: string): Promise<JournalError> {
  const fault = await settling.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert(fault !== undefined, `resolve went through, though ${when}`);
  assert(fault instanceof JournalError, `resolve failed with something that is no JournalError: ${fault}`);
  return fault;
}

export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}
