import type { FollowUpRecord, Journal } from '../../journal/journal.ts';
import { assert, sleep } from './assert.ts';
import {
  type ConformanceContext,
  type ConformanceTest,
  expectClaim,
  expectMissingMethod,
  expectUnknownAfterLease,
  note,
  SHORT_LEASE,
} from './context.ts';
import { DUE_LEASE, type DueClaim } from './due-records.ts';

/** Long enough to be later than the case, in milliseconds. */
const LATER = 60_000;

/** Whether a record that was due after `elapsed` milliseconds was not due early. A store's clock can be adjusted meanwhile. */
const isDueAfter = (elapsed: number, dueIn: number) => elapsed >= 0.7 * dueIn;

/**
 * Returns how many milliseconds two claims can be apart at most. Their order is not known: a store can return the first one
 * last.
 */
const getLongestInterval = (claim: DueClaim, other: DueClaim) =>
  Math.max(claim.endedAt - other.startedAt, other.endedAt - claim.startedAt);

/** What is due for a follow-up: when, once for each claim, and moved by each step. */
export const followUpCases: readonly ConformanceTest[] = [
  {
    name: 'makes a completed key due when its first check is due',
    async test(context) {
      const journal = await context.openHandle();
      const [now, later] = [context.newKey(), context.newKey()];
      const firstCheckIn = 1_000;
      const startedAt = await context.due.takeTurn(async ({ claimAll }) => {
        await complete(context, journal, now);
        // The first check counts from the claim.
        const since = performance.now();
        const claim = await expectClaim(journal, later, context.charge);
        await journal.complete(claim, {
          state: 'completed',
          result: { reference: context.newReference() },
          firstCheckIn,
        });
        await claimAll(journal);
        return since;
      });
      assert(context.due.claimsOf(now).length > 0, 'claimDue did not return a key that was just completed');
      const { record, endedAt } = await context.due.waitForClaim(journal, later, 'its first check is due');
      const elapsed = Math.round(endedAt - startedAt);
      assert(
        isDueAfter(elapsed, firstCheckIn),
        `claimDue returned a record after ${elapsed} ms, due in ${firstCheckIn}`,
      );
      const { state, reference } = record.entry;
      assert(state === 'completed' && reference !== undefined, `claimDue returned a key that is ${state}`);
    },
  },
  {
    name: 'claims what is due, the earliest first',
    async test(context) {
      const journal = await context.openHandle();
      const [later, earlier] = [
        await createDueRecord(context, journal),
        await createDueRecord(context, journal),
      ];
      await context.due.takeTurn(async ({ claimAll }) => {
        for (const [record, dueIn] of [
          [later, 1_100],
          [earlier, 0],
        ] as const) {
          const updated = await journal.followUps.update(record, { checks: 1, reported: [] }, dueIn);
          assert(updated !== null, 'update returned null, although nothing else changed the record');
          context.due.forget(record.key);
        }
        await sleep(1_200);
        await claimAll(journal);
      });
      const [first, second] = [context.due.claimsOf(earlier.key)[0], context.due.claimsOf(later.key)[0]];
      const isInOrder = first !== undefined && second !== undefined && first.position < second.position;
      assert(isInOrder, 'claimDue returned a record before one that was due earlier');
    },
  },
  {
    name: 'gives a due record to one of many callers, until its lease ends',
    async test(context) {
      const handles = await context.openHandles(4);
      const [first] = handles;
      assert(first !== undefined, 'there is no handle');
      const keys = context.newKeys(10);
      await Promise.all(keys.map((key) => recordUnknown(context, first, key)));
      await context.due.takeTurn(async ({ claimAll, claimPage }) => {
        await claimPage(first, 3);
        await claimAll(...handles, ...handles);
        await claimAll(...handles);
      });
      for (const key of keys) {
        const claims = context.due.claimsOf(key);
        assert(claims.length > 0, 'claimDue did not return a record that is due');
        for (const [index, claim] of claims.entries()) {
          for (const other of claims.slice(index + 1)) {
            const apart = Math.round(getLongestInterval(claim, other));
            assert(
              isDueAfter(apart, DUE_LEASE),
              `claimDue returned a record twice within ${apart} ms, claimed for ${DUE_LEASE}`,
            );
          }
        }
      }
      const [key = ''] = keys;
      context.due.forget(key);
      await context.due.waitForClaim(first, key, 'the lease of its claim has ended');
    },
  },
  {
    name: 'changes neither version nor age of a record that it claims',
    async test(context) {
      const owner = await context.openHandle({ lease: SHORT_LEASE });
      const other = await context.openHandle();
      const key = context.newKey();
      const claim = await expectClaim(owner, key, context.charge);
      await expectUnknownAfterLease(owner, key, 'there was no heartbeat');
      const readVersion = async () => {
        const result = await other.claim(key, context.charge);
        assert(result.state === 'in_progress', `claim returned ${result.state} within the lease`);
        return result.version;
      };
      const version = await readVersion();
      const first = await context.due.waitForClaim(other, key, 'its lease has expired');
      assert((await readVersion()) === version, 'claimDue changed the version of a record');
      assert(first.record.version === version, 'claimDue returned another version than the record has');
      const entry = await owner.read(key);
      assert(
        entry?.state === 'unknown',
        'claimDue changed the age of a record: an expired claim reads as begun',
      );
      assert((await owner.renew(claim)) !== null, 'claimDue ended the claim of a process');
    },
  },
  {
    name: 'moves a record to when its next step is due, and keeps the step',
    async test(context) {
      const [journal, other] = [await context.openHandle(), await context.openHandle()];
      const record = await createDueRecord(context, journal);
      const { key } = record;
      let moved = await update(context, journal, record, 1, LATER);
      await sleep(DUE_LEASE + 100);
      assert(
        (await context.due.countClaims(other, key)) === 0,
        'claimDue returned a record that is due later',
      );
      const entry = await other.read(key);
      assert(
        entry?.followUp?.checks === 1,
        `the recorded step came back as ${JSON.stringify(entry?.followUp)}`,
      );
      moved = await update(context, other, moved, 2, 0);
      await context.due.waitForClaim(journal, key, 'its next step is due');
      await update(context, journal, moved, 3, null);
      await sleep(DUE_LEASE + 100);
      assert(
        (await context.due.countClaims(other, key)) === 0,
        'claimDue returned a record that is never due',
      );
    },
  },
  {
    name: 'records one of several steps made at once, and none of the others',
    async test(context) {
      const handles = await context.openHandles(4);
      const [first] = handles;
      assert(first !== undefined, 'there is no handle');
      const record = await createDueRecord(context, first);
      const steps = await Promise.all(
        handles.map(({ followUps }, checks) => followUps.update(record, { checks, reported: [] }, LATER)),
      );
      const recorded = steps.filter((step) => step !== null);
      assert(
        recorded.length === 1,
        `${recorded.length} steps of one record were recorded at once, instead of one`,
      );
      await first.resolve(record.key, 'not_charged', note);
      const [step] = recorded;
      const late = step && (await first.followUps.update(step, { checks: 9, reported: [] }, 0));
      assert(late === null, 'a step was recorded of a key that was resolved meanwhile');
    },
  },
  {
    name: 'makes a begun key due once its lease has expired, not before',
    async test(context) {
      const owner = await context.openHandle({ lease: 2 * SHORT_LEASE });
      const key = context.newKey();
      const claim = await expectClaim(owner, key, context.charge);
      await sleep(SHORT_LEASE);
      const startedAt = await context.due.takeTurn(async () => {
        const since = performance.now();
        const renewed = await owner.renew(claim);
        assert(renewed !== null, 'renew returned null, but no other process had the claim');
        // On a slow machine the lease had expired before, and another case claimed the key.
        context.due.forget(key);
        return since;
      });
      const { endedAt } = await context.due.waitForClaim(owner, key, 'its process died');
      const elapsed = Math.round(endedAt - startedAt);
      assert(
        isDueAfter(elapsed, 2 * SHORT_LEASE),
        `claimDue returned a key ${elapsed} ms after a heartbeat, within its lease`,
      );
      const entry = await owner.read(key);
      assert(entry?.state === 'unknown', `claimDue returned a key that reads as ${entry?.state}`);
    },
  },
  {
    name: 'keeps the claim of a process when a step of its key is recorded',
    async test(context) {
      const owner = await context.openHandle({ lease: SHORT_LEASE });
      const sweeper = await context.openHandle({ lease: SHORT_LEASE });
      const key = context.newKey();
      const claim = await expectClaim(owner, key, context.charge);
      const { record } = await context.due.waitForClaim(sweeper, key, 'its lease has expired');
      await update(context, sweeper, record, 1, LATER);
      const renewed = await owner.renew(claim);
      assert(renewed !== null, 'renew returned null, although only a follow-up was recorded');
      const reference = context.newReference();
      const isCompleted = await owner.complete(renewed, { state: 'completed', result: { reference } });
      assert(isCompleted, 'complete returned false, although only a follow-up was recorded');
      const entry = await sweeper.read(key);
      assert(entry?.reference === reference, `read returned the reference ${entry?.reference}`);
    },
  },
  {
    name: 'makes nothing due after not_sent, rejected or not_charged',
    async test(context) {
      const journal = await context.openHandle({ lease: SHORT_LEASE });
      const keys: string[] = [];
      for (const state of ['not_sent', 'rejected'] as const) {
        const key = context.newKey();
        await journal.complete(await expectClaim(journal, key, context.charge), { state });
        keys.push(key);
      }
      const { key: resolved } = await createDueRecord(context, journal);
      await journal.resolve(resolved, 'not_charged', note);
      keys.push(resolved);
      await context.due.takeTurn(async () => {
        for (const key of keys) context.due.forget(key);
      });
      // Longer than the lease of their claims, and of the claim as due.
      await sleep(DUE_LEASE + SHORT_LEASE);
      for (const key of keys) {
        const claims = await context.due.countClaims(journal, key);
        const entry = await journal.read(key);
        assert(
          claims === 0,
          `claimDue returned a key in state ${entry?.state}: nothing has to be done about it`,
        );
      }
    },
  },
  {
    name: 'follows up the charge that a person found',
    async test(context) {
      const journal = await context.openHandle();
      const record = await createDueRecord(context, journal);
      const { key } = record;
      await update(context, journal, record, 1, null);
      const reference = context.newReference();
      await journal.resolve(key, { reference }, note);
      const found = await context.due.waitForClaim(journal, key, 'a person found its charge');
      const { entry } = found.record;
      assert(entry.reference === reference, `claimDue returned the reference ${entry.reference}`);
      assert(entry.followUp === undefined, 'the follow-up of another outcome was kept');
    },
  },
  {
    name: 'counts what is due, and tells when the next is',
    async test(context) {
      const journal = await context.openHandle();
      const keys = context.newKeys(10);
      await update(context, journal, await createDueRecord(context, journal), 1, LATER);
      for (let attempt = 0; attempt < 5; attempt++) {
        const isLess = await context.due.takeTurn(async ({ claimAll }) => {
          await Promise.all(keys.map((key) => recordUnknown(context, journal, key)));
          const before = await journal.followUps.countDue();
          assert(
            before.due >= keys.length,
            `countDue returned ${before.due}, but ${keys.length} keys are due`,
          );
          const { nextIn } = before;
          const isBefore = nextIn !== null && nextIn > 0 && nextIn <= LATER;
          assert(isBefore, `countDue returned that the next is due in ${nextIn} ms, but one is in ${LATER}`);
          const startedAt = performance.now();
          await claimAll(journal);
          const after = await journal.followUps.countDue();
          const isWithinLease = performance.now() - startedAt < DUE_LEASE;
          for (const key of keys)
            assert(context.due.claimsOf(key).length > 0, 'countDue claimed what it counted');
          return after.due < before.due || !isWithinLease;
        });
        if (isLess) return;
        // Other cases made more keys due meanwhile.
        for (const key of keys.splice(0)) context.due.forget(key);
        keys.push(...context.newKeys(10));
        await sleep(100);
      }
      throw new Error('countDue counts records that are claimed');
    },
  },
];

/** Of a journal whose store has no `claimDue` and `countDue`. */
export const withoutFollowUpsCase: ConformanceTest = {
  name: 'says that it has no follow-ups, and charges all the same',
  async test(context) {
    const journal = await context.openHandle();
    const key = context.newKey();
    await complete(context, journal, key);
    await expectMissingMethod('claimDue', () => journal.followUps.claimDue({ limit: 1, lease: DUE_LEASE }));
    await expectMissingMethod('countDue', () => journal.followUps.countDue());
    assert((await journal.read(key))?.state === 'completed', 'a completed key does not read as completed');
  },
};

async function complete(context: ConformanceContext, journal: Journal, key: string): Promise<void> {
  const result = { reference: context.newReference() };
  const isRecorded = await journal.complete(await expectClaim(journal, key, context.charge), {
    state: 'completed',
    result,
  });
  assert(isRecorded, 'complete returned false, but no other process had the claim');
}

async function recordUnknown(context: ConformanceContext, journal: Journal, key: string): Promise<void> {
  const reference = context.newReference();
  await journal.complete(await expectClaim(journal, key, context.charge), { state: 'unknown', reference });
}

/** Creates a key that is due, since its outcome is unknown, and returns its record. */
async function createDueRecord(context: ConformanceContext, journal: Journal): Promise<FollowUpRecord> {
  const key = context.newKey();
  await recordUnknown(context, journal, key);
  return (await context.due.waitForClaim(journal, key, 'its outcome is unknown')).record;
}

/** Records a step, and forgets the claims before it. */
function update(
  context: ConformanceContext,
  journal: Journal,
  record: FollowUpRecord,
  checks: number,
  dueIn: number | null,
): Promise<FollowUpRecord> {
  return context.due.takeTurn(async () => {
    const updated = await journal.followUps.update(record, { checks, reported: [] }, dueIn);
    assert(updated !== null, 'update returned null, although nothing else changed the record');
    context.due.forget(record.key);
    return updated;
  });
}
