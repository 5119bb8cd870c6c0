import type { Claim } from '../../journal/core.ts';
import type { Completion } from '../../journal/record.ts';
import { assert } from './assert.ts';
import {
  type ConformanceTest,
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
  note,
  otherInput,
  recordUnknown,
  SHORT_LEASE,
} from './context.ts';

const completed: Completion = { state: 'completed', result: { reference: 'TXN-made' } };

/** The outcome of a charge: recorded by its process, also late, and never over that of another process. */
export const completionCases: readonly ConformanceTest[] = [
  {
    name: 'records a result, and every handle returns it',
    async test(context) {
      const [owner, other] = [await context.openHandle(), await context.openHandle()];
      const key = context.newKey();
      await complete(context, owner, key, completed);
      for (const journal of [owner, other, await context.openHandle()]) {
        const { result } = await expectState(journal, key, 'completed', 'its result was recorded');
        assert(result.reference === 'TXN-made', `the recorded reference is ${result.reference}`);
        const entry = await journal.read(key);
        assert(entry?.state === 'completed' && !entry.inProgress, 'read does not return that it completed');
      }
    },
  },
  {
    name: 'keeps every record after all handles are closed',
    async test(context) {
      const journal = await context.openHandle();
      const [completedKey, claimedKey, unknownKey] = [context.newKey(), context.newKey(), context.newKey()];
      await complete(context, journal, completedKey, completed);
      await expectClaim(journal, claimedKey);
      await recordUnknown(context, journal, unknownKey);
      await context.closeAll();
      const later = await context.openHandle({ lease: SHORT_LEASE });
      await expectState(later, completedKey, 'completed', 'it was recorded before the handles were closed');
      await expectState(later, unknownKey, 'unknown', 'it was recorded before the handles were closed');
      await expectUnknownAfterLease(later, claimedKey, 'the handle with the claim was closed');
    },
  },
  {
    name: 'keeps the reference of an unknown outcome, and gives no new claim',
    async test(context) {
      const [owner, other] = [await context.openHandle(), await context.openHandle()];
      for (const reference of ['TXN-perhaps', undefined]) {
        const key = context.newKey();
        await complete(context, owner, key, { state: 'unknown', reference });
        for (const journal of [owner, other, other]) {
          const result = await expectState(journal, key, 'unknown', 'its outcome is unknown');
          assert(result.reference === reference, `the recorded reference is ${result.reference}`);
        }
      }
    },
  },
  {
    name: 'gives one new claim after not_sent or rejected, with any input',
    async test(context) {
      const handles = await context.openHandles(4);
      const [owner] = handles;
      for (const state of ['not_sent', 'rejected'] as const) {
        for (const key of context.newKeys(5)) {
          await complete(context, owner, key, { state });
          await expectSingleWinner(handles, key, `a key that was ${state}`);
        }
        const key = context.newKey();
        await complete(context, owner, key, { state });
        await expectSingleWinner(handles, key, `a key that was ${state}, with other input`, otherInput);
      }
    },
  },
  {
    name: 'accepts a late completion of an unresolved key',
    async test(context) {
      const { owner, other, key, claim } = await expireClaim(context);
      await expectCompletion(owner, claim, completed);
      await expectState(other, key, 'completed', 'its process recorded the result late');
    },
  },
  {
    name: 'ends a claim when its key is resolved',
    async test(context) {
      const { owner, other, key, claim } = await expireClaim(context);
      const reference = context.newReference();
      await other.resolve(key, { reference }, note);
      await expectLost(owner, claim, 'the key was resolved');
      const { result } = await expectState(other, key, 'completed', 'it was resolved');
      assert(result.reference === reference, 'a claim that was lost changed the record');
    },
  },
  {
    name: 'ends a claim when another process claims the key',
    async test(context) {
      const { owner, other, key, claim } = await expireClaim(context);
      await other.resolve(key, 'not_charged', note);
      const otherClaim = await expectClaim(other, key);
      await expectLost(owner, claim, 'another process claimed the key');
      await expectHeartbeat(other, otherClaim);
    },
  },
  {
    name: 'accepts a completion or a resolution, when both are made at once',
    async test(context) {
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
        const [isCompleted, isResolved] = await Promise.all([owner.complete(claim, completed), resolving]);
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
  },
];

async function expectLost(journal: Handle, claim: Claim, situation: string): Promise<void> {
  assert((await journal.renew(claim)) === null, `renew returned a claim, although ${situation}`);
  assert(!(await journal.complete(claim, completed)), `complete returned true, although ${situation}`);
  assert((await journal.claim(claim.key, charge)).state !== 'claimed', 'a lost claim freed the key');
}
