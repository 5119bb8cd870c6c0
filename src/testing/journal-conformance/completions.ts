import type { Claim, Journal } from '../../journal/journal.ts';
import type { Completion } from '../../journal/record.ts';
import { expectSingleWinner } from './claims.ts';
import {
  assert,
  type ConformanceTest,
  charge,
  expectClaim,
  expectState,
  expectUnknownAfterLease,
  otherInput,
  SHORT,
} from './context.ts';

const completed: Completion = { state: 'completed', result: { reference: 'TXN-made' } };

/** How a charge ended. */
export const endingCases: readonly ConformanceTest[] = [
  {
    name: 'a result is recorded, and is the answer to every handle',
    async play(stage) {
      const [owner, other] = [await stage.handle(), await stage.handle()];
      const key = stage.key();
      await ends(owner, await expectClaim(owner, key), completed);
      for (const journal of [owner, other, await stage.handle()]) {
        const { result } = await expectState(journal, key, 'completed', 'its result was recorded');
        assert(result.reference === 'TXN-made', `the recorded reference is ${result.reference}`);
        const entry = await journal.read(key);
        assert(entry?.state === 'completed' && !entry.inProgress, 'read does not show that it was completed');
      }
    },
  },
  {
    name: 'what was recorded outlives every handle',
    async play(stage) {
      const gone = await stage.handle();
      const [made, left, doubtful] = [stage.key(), stage.key(), stage.key()];
      await ends(gone, await expectClaim(gone, made), completed);
      await expectClaim(gone, left);
      await ends(gone, await expectClaim(gone, doubtful), { state: 'unknown', reference: 'TXN-perhaps' });
      await stage.closeAll();
      const journal = await stage.handle({ lease: SHORT });
      await expectState(journal, made, 'completed', 'it was recorded before the handles were closed');
      await expectState(journal, doubtful, 'unknown', 'it was recorded before the handles were closed');
      await expectUnknownAfterLease(journal, left, 'the handle that began was closed');
    },
  },
  {
    name: 'an unknown outcome keeps its reference, and is never begun again',
    async play(stage) {
      const [owner, other] = [await stage.handle(), await stage.handle()];
      for (const reference of ['TXN-perhaps', undefined]) {
        const key = stage.key();
        await ends(owner, await expectClaim(owner, key), { state: 'unknown', reference });
        for (const journal of [owner, other, other]) {
          const standing = await expectState(journal, key, 'unknown', 'its outcome is unknown');
          assert(standing.reference === reference, `the reference came back as ${standing.reference}`);
        }
      }
    },
  },
  {
    name: 'what was not sent, or was rejected, may be begun again, by one',
    async play(stage) {
      const handles = await stage.handles(4);
      const [owner] = handles;
      assert(owner !== undefined, 'there is no handle');
      for (const state of ['not_sent', 'rejected'] as const) {
        for (const key of stage.keys(5)) {
          await ends(owner, await expectClaim(owner, key), { state });
          await expectSingleWinner(handles, key, `began what was ${state}`);
        }
        const key = stage.key();
        await ends(owner, await expectClaim(owner, key), { state });
        await expectSingleWinner(handles, key, `began what was ${state} with other input`, otherInput);
      }
    },
  },
  {
    name: 'an end that comes late counts where nobody had settled the charge',
    async play(stage) {
      const [owner, other] = [await stage.handle(), await stage.handle({ lease: SHORT })];
      const key = stage.key();
      const claim = await expectClaim(owner, key);
      await expectUnknownAfterLease(other, key, 'nobody was heard of');
      await ends(owner, claim, completed);
      await expectState(other, key, 'completed', 'its owner recorded the result after all');
    },
  },
  {
    name: 'a claim that was settled by somebody else can neither be renewed nor ended',
    async play(stage) {
      const [owner, other] = [await stage.handle(), await stage.handle({ lease: SHORT })];
      const key = stage.key();
      const claim = await expectClaim(owner, key);
      await expectUnknownAfterLease(other, key, 'nobody was heard of');
      await other.resolve(key, { reference: 'TXN-found' });
      await isLost(owner, claim, 'the charge had been settled');
      const { result } = await expectState(other, key, 'completed', 'it had been settled');
      assert(result.reference === 'TXN-found', 'a claim that was lost changed the record all the same');
    },
  },
  {
    name: 'a claim that passed to somebody else can neither be renewed nor ended',
    async play(stage) {
      const [owner, other] = [await stage.handle(), await stage.handle({ lease: SHORT })];
      const key = stage.key();
      const claim = await expectClaim(owner, key);
      await expectUnknownAfterLease(other, key, 'nobody was heard of');
      await other.resolve(key, 'not_charged');
      const theirs = await expectClaim(other, key);
      await isLost(owner, claim, 'somebody else had begun the key');
      assert((await other.renew(theirs)) !== null, 'the new owner lost its claim to the old one');
    },
  },
  {
    name: 'of an end and a resolution at once, one counts',
    async play(stage) {
      const [owner, other] = [await stage.handle(), await stage.handle({ lease: SHORT })];
      const begun = new Map<string, Claim>();
      for (const key of stage.keys(10)) begun.set(key, await expectClaim(owner, key));
      for (const key of begun.keys()) await expectUnknownAfterLease(other, key, 'nobody was heard of');
      const races = [...begun].map(async ([key, claim]) => {
        const settling = other.resolve(key, 'not_charged').then(
          () => true,
          () => false,
        );
        const [ended, settled] = await Promise.all([owner.complete(claim, completed), settling]);
        assert(
          ended !== settled,
          ended ? 'both were told that theirs counts' : 'neither was told that theirs counts',
        );
        const entry = await other.read(key);
        const state = ended ? 'completed' : 'not_charged';
        assert(
          entry?.state === state,
          `the record is ${entry?.state}, but whoever made it ${state} was told so`,
        );
      });
      await Promise.all(races);
    },
  },
];

async function ends(journal: Journal, claim: Claim, ending: Completion): Promise<void> {
  assert(await journal.complete(claim, ending), 'end says that the claim is lost, but nobody had taken it');
}

async function isLost(journal: Journal, claim: Claim, when: string): Promise<void> {
  assert((await journal.renew(claim)) === null, `renew says that the claim holds, though ${when}`);
  assert(!(await journal.complete(claim, completed)), `end says that it was recorded, though ${when}`);
  assert((await journal.claim(claim.key, charge)).state !== 'claimed', 'a lost claim freed the key');
}
