import type { Journal } from '../../journal/journal.ts';
import {
  assert,
  type ConformanceTest,
  charge,
  expectClaim,
  expectState,
  expectUnknownAfterLease,
  LONG,
  otherInput,
  SHORT,
  sleep,
} from './context.ts';

/** Who may send. */
export const claimCases: readonly ConformanceTest[] = [
  {
    name: 'a key that was never used is begun, and every handle sees what',
    async play(stage) {
      const [one, other] = [await stage.handle(), await stage.handle()];
      const key = stage.key();
      assert((await one.read(key)) === null, 'read gave something of a key that was never used');
      const claim = await expectClaim(one, key);
      assert(claim.key === key, 'the claim is of another key');
      for (const journal of [one, other, await stage.handle()]) {
        const entry = await journal.read(key);
        assert(entry !== null, 'a handle does not see what was begun');
        const { state, inProgress, operation, service, fingerprint, amount, currency } = entry;
        assert(state === 'begun' && inProgress, `a handle sees ${state} instead of a charge in progress`);
        const seen = JSON.stringify({ operation, service, fingerprint, amount, currency });
        assert(seen === JSON.stringify(charge), `a handle sees another attempt: ${seen}`);
        await expectState(journal, key, 'in_progress', 'somebody had begun it');
      }
    },
  },
  {
    name: 'of many that begin at once over several handles, one gets the claim',
    async play(stage) {
      const handles = await stage.handles(4);
      for (const key of stage.keys(10)) await expectSingleWinner(handles, key, 'began at once');
    },
  },
  {
    name: 'a charge whose process is heard of is in progress, and each renewal shows',
    async play(stage) {
      const [owner, other] = [await stage.handle(), await stage.handle()];
      const key = stage.key();
      const claim = await expectClaim(owner, key);
      const first = await expectState(other, key, 'in_progress', 'it was just begun');
      const again = await owner.renew(claim);
      assert(again !== null, 'renew says that the claim is lost, but nobody had taken it');
      const second = await expectState(other, key, 'in_progress', 'it was just renewed');
      assert(first.version !== second.version, 'a renewal left the version as it was');
      assert((await owner.renew(again)) !== null, 'a second renewal says that the claim is lost');
    },
  },
  {
    name: 'a renewal counts from when it was made',
    async play(stage) {
      const [owner, other] = [await stage.handle(), await stage.handle({ lease: SHORT })];
      const key = stage.key();
      let claim = await expectClaim(owner, key);
      await expectUnknownAfterLease(other, key, 'nobody was heard of');
      for (let tries = 0; tries < 20; tries++) {
        const asked = performance.now();
        const renewed = await owner.renew(claim);
        assert(renewed !== null, 'renew says that the claim is lost, but nobody had taken it');
        claim = renewed;
        const { state } = await other.claim(key, charge);
        if (state === 'in_progress') return;
        assert(state === 'unknown', `begin gave ${state} after a renewal`);
        const took = performance.now() - asked;
        assert(
          took >= SHORT,
          `${Math.round(took)} ms after a renewal, within the lease, the charge counts as left`,
        );
      }
      throw new Error('the journal is too slow to tell whether a renewal counts');
    },
  },
  {
    name: 'a process that dies after it began leaves its charge in doubt, for good',
    async play(stage) {
      const [owner, other] = [await stage.handle(), await stage.handle({ lease: SHORT })];
      const key = stage.key();
      await expectClaim(owner, key);
      await expectUnknownAfterLease(other, key, 'the process that began had died');
      const handles = [other, await stage.handle({ lease: SHORT }), await stage.handle({ lease: SHORT })];
      const all = await Promise.all([...handles, ...handles].map((journal) => journal.claim(key, charge)));
      const states = all.map(({ state }) => state).join(', ');
      assert(
        all.every(({ state }) => state === 'unknown'),
        `a key in doubt gave ${states} when asked again`,
      );
    },
  },
  {
    name: 'a process that dies after it renewed leaves its charge in doubt',
    async play(stage) {
      const [owner, other] = [await stage.handle(), await stage.handle({ lease: SHORT })];
      const key = stage.key();
      const claim = await expectClaim(owner, key);
      assert(
        (await owner.renew(claim)) !== null,
        'renew says that the claim is lost, but nobody had taken it',
      );
      await expectUnknownAfterLease(other, key, 'the process that renewed had died');
    },
  },
  {
    name: 'a process that dies while it renews or records the end never lets the charge be sent again',
    async play(stage) {
      const owner = await stage.handle();
      const other = await stage.handle({ lease: LONG });
      for (const key of stage.keys(5)) {
        const claim = await expectClaim(owner, key);
        const renewing = owner.renew(claim);
        await expectNotClaimable(other, key, 'while it was renewed');
        const renewed = await renewing;
        assert(renewed !== null, 'renew says that the claim is lost, but nobody had taken it');
        const ending = owner.complete(renewed, { state: 'completed', result: { reference: 'TXN-ended' } });
        await expectNotClaimable(other, key, 'while its end was recorded');
        assert(await ending, 'end says that the claim is lost, but nobody had taken it');
        await expectState(other, key, 'completed', 'its end had been recorded');
      }
    },
  },
  {
    name: 'other input is a conflict while a charge may exist',
    async play(stage) {
      const journal = await stage.handle();
      const key = stage.key();
      const conflict = (when: string) => expectState(journal, key, 'conflict', when, otherInput);
      const claim = await expectClaim(journal, key);
      await conflict('the charge in progress has other input');
      await journal.complete(claim, { state: 'unknown', reference: undefined });
      await conflict('the charge in doubt had other input');
      await journal.resolve(key, { reference: 'TXN-found' });
      await conflict('the charge that was made had other input');
    },
  },
  {
    name: 'another service or mode than the first is refused, and not recorded',
    async play(stage) {
      const journal = await stage.handle();
      await expectClaim(journal, stage.key());
      const other = { ...charge, service: 'digest-of-another-service' };
      const key = stage.key();
      for (const handle of [journal, await stage.handle()]) {
        const { service } = await expectState(
          handle,
          key,
          'other_service',
          'another service had used it',
          other,
        );
        assert(service === charge.service, `the journal says that it belongs to ${service}`);
        assert((await handle.read(key)) === null, 'something was recorded of a charge that was refused');
      }
      await expectClaim(journal, key);
    },
  },
];

async function expectNotClaimable(journal: Journal, key: string, when: string): Promise<void> {
  await sleep(0);
  const { state } = await journal.claim(key, charge);
  assert(state === 'in_progress' || state === 'completed', `begin gave ${state} ${when}`);
}

/** All of them begin one key at once: one has to get the claim, and the others have to see that. */
export async function expectSingleWinner(
  handles: Journal[],
  key: string,
  when: string,
  attempt = charge,
): Promise<void> {
  const all = await Promise.all([...handles, ...handles, ...handles].map((one) => one.claim(key, attempt)));
  const begun = all.filter(({ state }) => state === 'claimed').length;
  assert(begun === 1, `${begun} of ${all.length} that ${when} got the claim, instead of one`);
  const others = all.filter(({ state }) => state !== 'claimed' && state !== 'in_progress');
  assert(others.length === 0, `somebody who ${when} was told ${others[0]?.state} instead of in_progress`);
}
