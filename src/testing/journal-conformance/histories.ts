import type { Resolution } from '../../journal/resolution.ts';
import { assert, sleep } from './assert.ts';
import {
  type ConformanceTest,
  charge,
  complete,
  expectClaim,
  expectHeartbeat,
  expectRejection,
  type Handle,
  note,
  otherInput,
  recordUnknown,
  SHORT_LEASE,
} from './context.ts';

/** What happened under a key: its attempts, and what persons resolved. */
export const historyCases: readonly ConformanceTest[] = [
  {
    name: 'adds up the attempts and request ids under a key',
    async test(context) {
      const [journal, other] = [await context.openHandle(), await context.openHandle()];
      const key = context.newKey();
      const states = ['not_sent', 'rejected', 'unknown'] as const;
      const error = { code: 'unexpected_response', status: 502 };
      const createdAt: number[] = [];
      for (const [index, state] of states.entries()) {
        const claim = await expectClaim(journal, key, { ...charge, requestId: `request-${index}` });
        await journal.complete(claim, { state, error });
        const entry = await other.read(key);
        createdAt.push(entry?.createdAt ?? Number.NaN);
        const ids = entry?.requestIds.join();
        const expected = states.slice(0, index + 1).map((_, number) => `request-${number}`);
        assert(ids === expected.join(), `read returned the request ids ${ids} after ${index + 1} requests`);
        assert(entry?.attempts === index + 1, `read returned ${entry?.attempts} attempts after ${index + 1}`);
        assert(entry.error?.status === error.status, 'read returned another error than was recorded');
        await sleep(2);
      }
      const [first = 0, second = 0, third = 0] = createdAt;
      assert(first < second && second < third, 'createdAt is not when the latest call began');
      assert(Math.abs(Date.now() - first) < 60_000, 'createdAt is not in milliseconds since 1970');
    },
  },
  {
    name: 'keeps each resolution through later charges under the key',
    async test(context) {
      const [journal, other] = [await context.openHandle(), await context.openHandle()];
      const key = context.newKey();
      const [first, second] = [
        { by: 'ama@shop.example', reason: 'not on the dashboard' },
        { by: 'kofi@shop.example', reason: 'not on the dashboard either' },
      ];
      await recordUnknown(context, journal, key);
      await journal.resolve(key, 'not_charged', first);
      await recordUnknown(context, journal, key);
      await journal.resolve(key, 'not_charged', second);
      const renewed = await expectHeartbeat(journal, await expectClaim(journal, key, otherInput));
      const expected = [first, second].map((by) => ({ ...by, resolution: 'not_charged' as const }));
      await expectResolutions(other, key, expected);
      await journal.complete(renewed, { state: 'completed', result: { reference: context.newReference() } });
      await expectResolutions(other, key, expected);
    },
  },
  {
    name: 'keeps what a person resolved',
    async test(context) {
      const options = { lease: SHORT_LEASE };
      const journal = await context.openHandle(options);
      const [found, freed, charged] = [context.newKey(), context.newKey(), context.newKey()];
      for (const key of [found, freed, charged]) await recordUnknown(context, journal, key);
      const reference = context.newReference();
      await journal.resolve(found, { reference }, note);
      for (const key of [freed, charged]) await journal.resolve(key, 'not_charged', note);
      await complete(context, journal, charged, { state: 'rejected' });
      await sleep(3 * SHORT_LEASE);
      for (const key of context.newKeys(20)) await expectClaim(journal, key);
      const reader = await context.openHandle(options);
      await expectResolutions(reader, found, [{ ...note, resolution: { reference } }]);
      for (const key of [freed, charged])
        await expectResolutions(reader, key, [{ ...note, resolution: 'not_charged' }]);
    },
  },
  {
    name: 'resolves again what a person resolved, and keeps both resolutions',
    async test(context) {
      const [journal, other] = [await context.openHandle(), await context.openHandle()];
      const key = context.newKey();
      await recordUnknown(context, journal, key);
      const [wrong, right] = [context.newReference(), context.newReference()];
      const resolutions = [{ reference: wrong }, 'not_charged', { reference: right }] as const;
      for (const resolution of resolutions) await other.resolve(key, resolution, note);
      const entry = await journal.read(key);
      assert(entry?.reference === right, `read returned the reference ${entry?.reference}`);
      await expectResolutions(
        journal,
        key,
        resolutions.map((resolution) => ({ ...note, resolution })),
      );
      // What was resolved wrongly is free for the key that it belongs to.
      const owner = context.newKey();
      await recordUnknown(context, journal, owner);
      await journal.resolve(owner, { reference: wrong }, note);
    },
  },
  {
    name: 'refuses a reference that another key was resolved with',
    async test(context) {
      const [journal, other] = [await context.openHandle(), await context.openHandle()];
      const [first, second] = [context.newKey(), context.newKey()];
      for (const key of [first, second]) await recordUnknown(context, journal, key);
      const reference = context.newReference();
      await journal.resolve(first, { reference }, note);
      for (const handle of [journal, other]) {
        const resolving = handle.resolve(second, { reference }, note);
        await expectRejection(resolving, 'another key was resolved with its reference');
      }
      const entry = await other.read(second);
      assert(entry?.state === 'unknown', `a refused resolution left the key ${entry?.state}`);
      await expectResolutions(other, second, []);
    },
  },
  {
    name: 'gives a reference to one key at most, when two are resolved at once',
    async test(context) {
      const handles = await context.openHandles(4);
      for (let round = 0; round < 5; round++) {
        const reference = context.newReference();
        const pairs = handles.map((journal) => ({ journal, key: context.newKey() }));
        await Promise.all(pairs.map(({ journal, key }) => recordUnknown(context, journal, key)));
        const results = await Promise.allSettled(
          pairs.map(({ journal, key }) => journal.resolve(key, { reference }, note)),
        );
        const accepted = results.filter(({ status }) => status === 'fulfilled').length;
        assert(accepted <= 1, `${accepted} keys were resolved with one reference, instead of one at most`);
        const entries = await Promise.all(pairs.map(({ journal, key }) => journal.read(key)));
        const named = entries.filter((entry) => entry?.reference === reference).length;
        assert(named === accepted, `${named} keys have a reference, and ${accepted} were resolved with it`);
      }
    },
  },
];

interface ExpectedResolution {
  readonly by: string;
  readonly reason: string;
  readonly resolution: Resolution;
}

async function expectResolutions(
  journal: Handle,
  key: string,
  expected: readonly ExpectedResolution[],
): Promise<void> {
  const entry = await journal.read(key);
  assert(entry !== null, 'a record with resolutions was dropped');
  const found = entry.resolutions.map(({ by, reason, resolution }) => ({ by, reason, resolution }));
  const isSame = JSON.stringify(found) === JSON.stringify(expected);
  assert(isSame, `read returned ${found.length} resolutions instead of ${expected.length}, or other ones`);
  const isDated = entry.resolutions.every(({ at }) => Math.abs(Date.now() - at) < 60_000);
  assert(isDated, 'a resolution has another time than that of this case');
}
