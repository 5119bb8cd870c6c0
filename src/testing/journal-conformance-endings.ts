import type { Claim, Journal } from '../journal/journal.ts';
import type { Ending } from '../journal/record.ts';
import { oneOfMany } from './journal-conformance-claims.ts';
import {
  charge,
  claimed,
  leftInDoubt,
  must,
  otherInput,
  type Play,
  SHORT,
  stands,
} from './journal-conformance-stage.ts';

const completed: Ending = { state: 'completed', result: { reference: 'TXN-made' } };

/** How a charge ended. */
export const endingCases: readonly Play[] = [
  {
    name: 'a result is recorded, and is the answer to every handle',
    async play(stage) {
      const [owner, other] = [await stage.handle(), await stage.handle()];
      const key = stage.key();
      await ends(owner, await claimed(owner, key), completed);
      for (const journal of [owner, other, await stage.handle()]) {
        const { result } = await stands(journal, key, 'completed', 'its result was recorded');
        must(result.reference === 'TXN-made', `the recorded reference is ${result.reference}`);
        const entry = await journal.read(key);
        must(entry?.state === 'completed' && !entry.inProgress, 'read does not show that it was completed');
      }
    },
  },
  {
    name: 'what was recorded outlives every handle',
    async play(stage) {
      const gone = await stage.handle();
      const [made, left, doubtful] = [stage.key(), stage.key(), stage.key()];
      await ends(gone, await claimed(gone, made), completed);
      await claimed(gone, left);
      await ends(gone, await claimed(gone, doubtful), { state: 'unknown', reference: 'TXN-perhaps' });
      await stage.closeAll();
      const journal = await stage.handle({ lease: SHORT });
      await stands(journal, made, 'completed', 'it was recorded before the handles were closed');
      await stands(journal, doubtful, 'unknown', 'it was recorded before the handles were closed');
      await leftInDoubt(journal, left, 'the handle that began was closed');
    },
  },
  {
    name: 'an unknown outcome keeps its reference, and is never begun again',
    async play(stage) {
      const [owner, other] = [await stage.handle(), await stage.handle()];
      for (const reference of ['TXN-perhaps', undefined]) {
        const key = stage.key();
        await ends(owner, await claimed(owner, key), { state: 'unknown', reference });
        for (const journal of [owner, other, other]) {
          const standing = await stands(journal, key, 'unknown', 'its outcome is unknown');
          must(standing.reference === reference, `the reference came back as ${standing.reference}`);
        }
      }
    },
  },
  {
    name: 'what was not sent, or was rejected, may be begun again, by one',
    async play(stage) {
      const handles = await stage.handles(4);
      const [owner] = handles;
      must(owner !== undefined, 'there is no handle');
      for (const state of ['not_sent', 'rejected'] as const) {
        for (const key of stage.keys(5)) {
          await ends(owner, await claimed(owner, key), { state });
          await oneOfMany(handles, key, `began what was ${state}`);
        }
        const key = stage.key();
        await ends(owner, await claimed(owner, key), { state });
        await oneOfMany(handles, key, `began what was ${state} with other input`, otherInput);
      }
    },
  },
  {
    name: 'an end that comes late counts where nobody had settled the charge',
    async play(stage) {
      const [owner, other] = [await stage.handle(), await stage.handle({ lease: SHORT })];
      const key = stage.key();
      const claim = await claimed(owner, key);
      await leftInDoubt(other, key, 'nobody was heard of');
      await ends(owner, claim, completed);
      await stands(other, key, 'completed', 'its owner recorded the result after all');
    },
  },
  {
    name: 'a claim that was settled by somebody else can neither be renewed nor ended',
    async play(stage) {
      const [owner, other] = [await stage.handle(), await stage.handle({ lease: SHORT })];
      const key = stage.key();
      const claim = await claimed(owner, key);
      await leftInDoubt(other, key, 'nobody was heard of');
      await other.resolve(key, { reference: 'TXN-found' });
      await isLost(owner, claim, 'the charge had been settled');
      const { result } = await stands(other, key, 'completed', 'it had been settled');
      must(result.reference === 'TXN-found', 'a claim that was lost changed the record all the same');
    },
  },
  {
    name: 'a claim that passed to somebody else can neither be renewed nor ended',
    async play(stage) {
      const [owner, other] = [await stage.handle(), await stage.handle({ lease: SHORT })];
      const key = stage.key();
      const claim = await claimed(owner, key);
      await leftInDoubt(other, key, 'nobody was heard of');
      await other.resolve(key, 'not_charged');
      const theirs = await claimed(other, key);
      await isLost(owner, claim, 'somebody else had begun the key');
      must((await other.renew(theirs)) !== null, 'the new owner lost its claim to the old one');
    },
  },
  {
    name: 'of an end and a resolution at once, one counts',
    async play(stage) {
      const [owner, other] = [await stage.handle(), await stage.handle({ lease: SHORT })];
      const begun = new Map<string, Claim>();
      for (const key of stage.keys(10)) begun.set(key, await claimed(owner, key));
      for (const key of begun.keys()) await leftInDoubt(other, key, 'nobody was heard of');
      const races = [...begun].map(async ([key, claim]) => {
        const settling = other.resolve(key, 'not_charged').then(
          () => true,
          () => false,
        );
        const [ended, settled] = await Promise.all([owner.end(claim, completed), settling]);
        must(
          ended !== settled,
          ended ? 'both were told that theirs counts' : 'neither was told that theirs counts',
        );
        const entry = await other.read(key);
        const state = ended ? 'completed' : 'not_charged';
        must(
          entry?.state === state,
          `the record is ${entry?.state}, but whoever made it ${state} was told so`,
        );
      });
      await Promise.all(races);
    },
  },
];

async function ends(journal: Journal, claim: Claim, ending: Ending): Promise<void> {
  must(await journal.end(claim, ending), 'end says that the claim is lost, but nobody had taken it');
}

async function isLost(journal: Journal, claim: Claim, when: string): Promise<void> {
  must((await journal.renew(claim)) === null, `renew says that the claim holds, though ${when}`);
  must(!(await journal.end(claim, completed)), `end says that it was recorded, though ${when}`);
  must((await journal.begin(claim.key, charge)).state !== 'begun', 'a lost claim freed the key');
}
