import { assert, sleep } from './assert.ts';
import {
  type ConformanceTest,
  charge,
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
  otherInput,
  SHORT_LEASE,
} from './context.ts';

/** Who can send: the claim of a key, its lease, and its heartbeats. */
export const claimCases: readonly ConformanceTest[] = [
  {
    name: 'claims an unused key, and every handle reads the same charge',
    async test(context) {
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
  },
  {
    name: 'gives one claim when many handles claim a key at once',
    async test(context) {
      const handles = await context.openHandles(4);
      for (const key of context.newKeys(10)) await expectSingleWinner(handles, key, 'an unused key');
    },
  },
  {
    name: 'reports in_progress within the lease, with a version per heartbeat',
    async test(context) {
      const [owner, other] = [await context.openHandle(), await context.openHandle()];
      const key = context.newKey();
      const claim = await expectClaim(owner, key);
      const first = await expectState(other, key, 'in_progress', 'it was just claimed');
      const renewed = await expectHeartbeat(owner, claim);
      const second = await expectState(other, key, 'in_progress', 'its lease was just renewed');
      assert(first.version !== second.version, 'a heartbeat did not change the version');
      await expectHeartbeat(owner, renewed);
    },
  },
  {
    name: 'counts the lease from the last heartbeat',
    async test(context) {
      const { owner, other, key, ...expired } = await expireClaim(context);
      let { claim } = expired;
      for (let attempt = 0; attempt < 20; attempt++) {
        const startedAt = performance.now();
        claim = await expectHeartbeat(owner, claim);
        const { state } = await other.claim(key, charge);
        if (state === 'in_progress') return;
        assert(state === 'unknown', `claim returned ${state} after a heartbeat`);
        const elapsed = performance.now() - startedAt;
        assert(
          elapsed >= SHORT_LEASE,
          `${Math.round(elapsed)} ms after a heartbeat, within the lease, the claim reads as expired`,
        );
      }
      throw new Error('the journal is too slow: no claim returned within the lease after a heartbeat');
    },
  },
  {
    name: 'keeps a key unknown for good when its process dies after the claim',
    async test(context) {
      const { other, key } = await expireClaim(context);
      const handles = [
        other,
        await context.openHandle({ lease: SHORT_LEASE }),
        await context.openHandle({ lease: SHORT_LEASE }),
      ];
      const results = await Promise.all(
        [...handles, ...handles].map((journal) => journal.claim(key, charge)),
      );
      assert(
        results.every(({ state }) => state === 'unknown'),
        `claim returned ${results.map(({ state }) => state).join(', ')} for an unresolved key`,
      );
    },
  },
  {
    name: 'makes a key unknown when its process dies after a heartbeat',
    async test(context) {
      const owner = await context.openHandle();
      const other = await context.openHandle({ lease: SHORT_LEASE });
      const key = context.newKey();
      await expectHeartbeat(owner, await expectClaim(owner, key));
      await expectUnknownAfterLease(other, key, 'the process died after a heartbeat');
    },
  },
  {
    name: 'never gives a second claim during a heartbeat or a completion',
    async test(context) {
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
  },
  {
    name: 'reports a conflict for other input while a charge might exist',
    async test(context) {
      const journal = await context.openHandle();
      const key = context.newKey();
      const expectConflict = (situation: string) =>
        expectState(journal, key, 'conflict', situation, otherInput);
      const claim = await expectClaim(journal, key);
      await expectConflict('the charge in progress has other input');
      await journal.complete(claim, { state: 'unknown', reference: undefined });
      await expectConflict('the unresolved charge has other input');
      await journal.resolve(key, { reference: context.newReference() }, note);
      await expectConflict('the charge that exists has other input');
    },
  },
  {
    name: 'refuses another service or mode, and records nothing for it',
    async test(context) {
      const journal = await context.openHandle();
      await expectClaim(journal, context.newKey());
      const otherService = { ...charge, service: 'digest-of-another-service' };
      const key = context.newKey();
      for (const handle of [journal, await context.openHandle()]) {
        const { service } = await expectState(
          handle,
          key,
          'other_service',
          'the journal belongs to another service',
          otherService,
        );
        assert(service === charge.service, `the journal reports that it belongs to ${service}`);
        assert((await handle.read(key)) === null, 'a claim for another service was recorded');
      }
      await expectClaim(journal, key);
    },
  },
];

async function expectNotClaimable(journal: Handle, key: string, situation: string): Promise<void> {
  await sleep(0);
  const { state } = await journal.claim(key, charge);
  assert(state === 'in_progress' || state === 'completed', `claim returned ${state} ${situation}`);
}
