import type { Claim } from '../../journal/core.ts';
import {
  assert,
  type ConformanceCases,
  charge,
  complete,
  expectClaim,
  expectCompletion,
  expectHeartbeat,
  expectSingleWinner,
  expectState,
  expectUnknownAfterLease,
  expireClaim,
  type Handle,
  LONG_LEASE,
  note,
  SHORT_LEASE,
  sleep,
} from './context.ts';

/** The longest lease that a slow store is tried with, in milliseconds. */
const MAX_SHORT_LEASE = 32 * SHORT_LEASE;

/** Who can send: the claim of a key, its lease, its heartbeats, and the record of its outcome. */
export const claimCases: ConformanceCases = {
  async 'claims an unused key, and every handle reads the same charge'(context) {
    const [first, second] = [await context.openHandle(), await context.openHandle()];
    const key = context.newKey();
    // In an empty database there is no journal to read.
    await expectClaim(first, context.newKey());
    assert((await first.read(key)) === null, 'read returned an entry for an unused key');
    const claim = await expectClaim(first, key);
    assert(claim.key === key, 'the claim has another key');
    for (const journal of [first, second, await context.openHandle()]) {
      const entry = await journal.read(key);
      assert(entry !== null, 'a handle does not see the claim');
      const { state, inProgress, operation, service, amount, currency, network } = entry;
      assert(state === 'begun' && inProgress, `a handle reads ${state} instead of a charge in progress`);
      const read = JSON.stringify({ operation, service, amount, currency, network });
      const { fingerprint: _, ...claimed } = charge;
      assert(read === JSON.stringify(claimed), `a handle reads another charge: ${read}`);
      await expectState(journal, key, 'in_progress', 'another process has the claim');
    }
  },
  async 'gives one claim when many handles claim a key at once'(context) {
    const handles = await context.openHandles(4);
    for (const key of context.newKeys(10)) await expectSingleWinner(handles, key, 'an unused key');
  },
  async 'reports in_progress within the lease, with a version per heartbeat'(context) {
    const [owner, other] = [await context.openHandle(), await context.openHandle()];
    const key = context.newKey();
    const claim = await expectClaim(owner, key);
    const first = await expectState(other, key, 'in_progress', 'it was just claimed');
    const renewed = await expectHeartbeat(owner, claim);
    const second = await expectState(other, key, 'in_progress', 'its lease was just renewed');
    assert(first.version !== second.version, 'a heartbeat did not change the version');
    await expectHeartbeat(owner, renewed);
  },
  async 'counts the lease from the last heartbeat'(context) {
    // A slow store needs a longer lease: the second claim must be read within it.
    for (let lease = SHORT_LEASE; lease <= MAX_SHORT_LEASE; lease *= 2) {
      const { owner, other, key, claim } = await expireClaim(context, lease);
      const startedAt = performance.now();
      await expectHeartbeat(owner, claim);
      const { state } = await other.claim(key, charge);
      if (state === 'in_progress')
        return expectUnknownAfterLease(other, key, 'the process died after a heartbeat', lease);
      assert(state === 'unknown', `claim returned ${state} after a heartbeat`);
      const elapsed = performance.now() - startedAt;
      assert(
        elapsed >= lease,
        `${Math.round(elapsed)} ms after a heartbeat, within the lease, the claim reads as expired`,
      );
    }
    throw new Error('the journal is too slow: no claim returned within the lease after a heartbeat');
  },
  async 'keeps a key unknown for good when its process dies after the claim'(context) {
    const { other, key } = await expireClaim(context);
    const handles = [
      other,
      await context.openHandle({ lease: SHORT_LEASE }),
      await context.openHandle({ lease: SHORT_LEASE }),
    ];
    const results = await Promise.all([...handles, ...handles].map((journal) => journal.claim(key, charge)));
    assert(
      results.every(({ state }) => state === 'unknown'),
      `claim returned ${results.map(({ state }) => state).join(', ')} for an unresolved key`,
    );
  },
  async 'never gives a second claim during a heartbeat or a completion'(context) {
    const owner = await context.openHandle();
    const other = await context.openHandle({ lease: LONG_LEASE });
    for (const key of context.newKeys(5)) {
      const claim = await expectClaim(owner, key);
      const renewing = expectHeartbeat(owner, claim);
      await expectNotClaimable(other, key, 'during a heartbeat');
      const completing = expectCompletion(owner, await renewing, {
        state: 'completed',
        result: { reference: context.newReference() },
      });
      await expectNotClaimable(other, key, 'during a completion');
      await completing;
      await expectState(other, key, 'completed', 'it was completed');
    }
  },
  async 'gives one new claim after not_sent or rejected'(context) {
    const handles = await context.openHandles(4);
    const [owner] = handles;
    for (const state of ['not_sent', 'rejected'] as const) {
      for (const key of context.newKeys(5)) {
        await complete(context, owner, key, { state });
        await expectSingleWinner(handles, key, `a key that was ${state}`);
      }
    }
  },
  async 'accepts a completion or a resolution, when both are made at once'(context) {
    const owner = await context.openHandle();
    const other = await context.openHandle({ lease: SHORT_LEASE });
    const claims = new Map<string, Claim>();
    for (const key of context.newKeys(10)) claims.set(key, await expectClaim(owner, key));
    for (const key of claims.keys()) await expectUnknownAfterLease(other, key, 'there was no heartbeat');
    const races = [...claims].map(async ([key, claim]) => {
      const resolving = other.resolve(key, 'not_charged', note).then(
        () => true,
        () => false,
      );
      const result = { reference: context.newReference() };
      const completing = owner.complete(claim, { state: 'completed', result });
      const [isCompleted, isResolved] = await Promise.all([completing, resolving]);
      assert(
        isCompleted !== isResolved,
        `both complete and resolve ${isCompleted ? 'succeeded' : 'failed'}, instead of one`,
      );
      const entry = await other.read(key);
      const state = isCompleted ? 'completed' : 'not_charged';
      assert(entry?.state === state, `the record is ${entry?.state}, but ${state} was accepted`);
    });
    await Promise.all(races);
  },
};

async function expectNotClaimable(journal: Handle, key: string, situation: string): Promise<void> {
  await sleep(0);
  const { state } = await journal.claim(key, charge);
  assert(state === 'in_progress' || state === 'completed', `claim returned ${state} ${situation}`);
}
