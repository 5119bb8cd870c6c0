import type { FollowUpRecord } from '../../journal/core.ts';
import {
  assert,
  type ConformanceCases,
  type ConformanceContext,
  charge,
  complete,
  expectClaim,
  expectHeartbeat,
  expectUnknownAfterLease,
  type Handle,
  note,
  recordUnknown,
  SHORT_LEASE,
  sleep,
} from './context.ts';

/** For how long the cases claim what is due, in milliseconds. */
const DUE_LEASE = 300;
/** How long to wait for a record to become due, in milliseconds. A store's clock can be coarse, and a machine slow. */
const DUE_TIMEOUT = 5_000;
/** Long enough to be later than the case, in milliseconds. */
const LATER = 60_000;

/** Whether a record that was due after `elapsed` milliseconds was not due early. A store's clock can be adjusted meanwhile. */
const isDueAfter = (elapsed: number, dueIn: number) => elapsed >= 0.7 * dueIn;

/** What is due for a follow-up: when, once for each claim, and moved by each step. */
export const followUpCases: ConformanceCases = {
  async 'makes a completed key due when its first check is due'(context) {
    const journal = await context.openHandle();
    const [now, later] = [context.newKey(), context.newKey()];
    const firstCheckIn = 1_000;
    await complete(context, journal, now);
    // The first check counts from the claim.
    const startedAt = performance.now();
    const result = { reference: context.newReference() };
    await journal.complete(await expectClaim(journal, later), { state: 'completed', result, firstCheckIn });
    const claimed = await claimPage(journal, 100);
    assert(
      claimed.some(({ key }) => key === now),
      'claimDue did not return a key that was just completed',
    );
    // A slow store takes as long.
    const early = claimed.find(({ key }) => key === later);
    const { entry } = early ?? (await waitForClaim(journal, later, 'its first check is due'));
    const elapsed = Math.round(performance.now() - startedAt);
    assert(
      isDueAfter(elapsed, firstCheckIn),
      `claimDue returned a record after ${elapsed} ms, due in ${firstCheckIn}`,
    );
    assert(
      entry.state === 'completed' && entry.reference === result.reference,
      `claimDue returned a key that is ${entry.state}`,
    );
  },
  async 'claims what is due, the earliest first'(context) {
    const journal = await context.openHandle();
    let [later, earlier] = [await createDueRecord(context, journal), await createDueRecord(context, journal)];
    // A slow store needs a longer delay: the second write must be made before the first record is due.
    for (let dueIn = 1_100, isSlow = true; isSlow; dueIn *= 2) {
      const startedAt = performance.now();
      later = await update(journal, later, 1, dueIn);
      earlier = await update(journal, earlier, 1, 0);
      isSlow = performance.now() - startedAt > 0.7 * dueIn;
      await sleep(isSlow ? 0 : dueIn + 100);
    }
    const keys = (await claimPage(journal, 2)).map(({ key }) => key);
    assert(
      keys.join() === [earlier.key, later.key].join(),
      'claimDue returned a record before one that was due earlier',
    );
  },
  async 'gives a due record to one of many callers, until its lease ends'(context) {
    const handles = await context.openHandles(4);
    const [first] = handles;
    const keys = context.newKeys(10);
    await Promise.all(keys.map((key) => recordUnknown(context, first, key)));
    const page = await claimPage(first, 3, LATER);
    const callers = [...handles, ...handles, ...handles].map((journal) => claimAll(journal, LATER));
    const claimed = [...page.map(({ key }) => key), ...(await Promise.all(callers)).flat()];
    for (const key of keys) {
      const count = claimed.filter((other) => other === key).length;
      assert(count > 0, 'claimDue did not return a record that is due');
      assert(count === 1, `claimDue returned a record ${count} times within its lease`);
    }
    const key = context.newKey();
    await recordUnknown(context, first, key);
    const startedAt = performance.now();
    assert((await claimAll(first)).includes(key), 'claimDue did not return a record that is due');
    await waitForClaim(first, key, 'the lease of its claim has ended');
    const elapsed = Math.round(performance.now() - startedAt);
    assert(
      isDueAfter(elapsed, DUE_LEASE),
      `claimDue returned a record again after ${elapsed} ms, claimed for ${DUE_LEASE}`,
    );
  },
  async 'returns what is due of one kind, and nothing of the other'(context) {
    const { store } = await context.openHandle();
    const kinds = ['key', 'order'] as const;
    for (const kind of kinds) {
      for (const [index, dueIn] of [0, LATER].entries()) {
        const found = { kind, state: 'completed', createdAt: Date.now(), reference: null };
        const change = { expected: null, text: '{}', mustCommit: true, index: found, dueIn };
        const version = crypto.randomUUID();
        assert(await store.write(`${kind}-${index}`, { ...change, version }), 'a record was not written');
      }
    }
    for (const kind of kinds) {
      const counted = await store.countDue?.({ kind });
      assert(counted?.due === 1, `countDue returned ${counted?.due}, and one record of the kind is due`);
      const claimed = (await store.claimDue?.({ kind, limit: 10, lease: LATER })) ?? [];
      const keys = claimed.map(({ key }) => key).join();
      assert(keys === `${kind}-0`, `claimDue returned ${keys} for what is due of the kind ${kind}`);
    }
  },
  async 'changes neither version nor age of a record that it claims'(context) {
    const owner = await context.openHandle({ lease: SHORT_LEASE });
    const other = await context.openHandle();
    const key = context.newKey();
    const claim = await expectClaim(owner, key);
    await expectUnknownAfterLease(owner, key, 'there was no heartbeat');
    const readVersion = async () => {
      const result = await other.claim(key, charge);
      assert(result.state === 'in_progress', `claim returned ${result.state} within the lease`);
      return result.version;
    };
    const version = await readVersion();
    const found = await waitForClaim(other, key, 'its lease has expired');
    assert((await readVersion()) === version, 'claimDue changed the version of a record');
    assert(found.version === version, 'claimDue returned another version than the record has');
    const entry = await owner.read(key);
    assert(
      entry?.state === 'unknown',
      'claimDue changed the age of a record: an expired claim reads as begun',
    );
    assert((await owner.renew(claim)) !== null, 'claimDue ended the claim of a process');
  },
  async 'moves a record to when its next step is due, and keeps the step'(context) {
    const [journal, other] = [await context.openHandle(), await context.openHandle()];
    const record = await createDueRecord(context, journal);
    const { key } = record;
    let moved = await update(journal, record, 1, LATER);
    await sleep(DUE_LEASE + 100);
    assert((await claimAll(other)).length === 0, 'claimDue returned a record that is due later');
    const entry = await other.read(key);
    assert(
      entry?.followUp?.checks === 1,
      `the recorded step came back as ${JSON.stringify(entry?.followUp)}`,
    );
    moved = await update(other, moved, 2, 0);
    await waitForClaim(journal, key, 'its next step is due');
    await update(journal, moved, 3, null);
    await sleep(DUE_LEASE + 100);
    assert((await claimAll(other)).length === 0, 'claimDue returned a record that is never due');
  },
  async 'makes a begun key due once its lease has expired, not before'(context) {
    const owner = await context.openHandle({ lease: 2 * SHORT_LEASE });
    const key = context.newKey();
    const claim = await expectClaim(owner, key);
    await sleep(SHORT_LEASE);
    const startedAt = performance.now();
    await expectHeartbeat(owner, claim);
    await waitForClaim(owner, key, 'its process died');
    const elapsed = Math.round(performance.now() - startedAt);
    assert(
      isDueAfter(elapsed, 2 * SHORT_LEASE),
      `claimDue returned a key ${elapsed} ms after a heartbeat, within its lease`,
    );
    const entry = await owner.read(key);
    assert(entry?.state === 'unknown', `claimDue returned a key that reads as ${entry?.state}`);
  },
  async 'makes nothing due after not_sent, rejected or not_charged'(context) {
    const journal = await context.openHandle({ lease: SHORT_LEASE });
    for (const state of ['not_sent', 'rejected'] as const)
      await complete(context, journal, context.newKey(), { state });
    const { key: resolved } = await createDueRecord(context, journal);
    await journal.resolve(resolved, 'not_charged', note);
    // Longer than the lease of their claims, and of the claim as due.
    await sleep(DUE_LEASE + SHORT_LEASE);
    const [found] = await claimPage(journal, 1);
    assert(
      found === undefined,
      `claimDue returned a key in state ${found?.entry.state}: nothing has to be done about it`,
    );
  },
  async 'counts what is due, and tells when the next is'(context) {
    const journal = await context.openHandle();
    const keys = context.newKeys(10);
    await update(journal, await createDueRecord(context, journal), 1, LATER);
    await Promise.all(keys.map((key) => recordUnknown(context, journal, key)));
    const { due, nextIn } = await journal.followUps.countDue({ kind: 'key' });
    assert(due === keys.length, `countDue returned ${due}, but ${keys.length} keys are due`);
    const isBefore = nextIn !== null && nextIn > 0 && nextIn <= LATER;
    assert(isBefore, `countDue returned that the next is due in ${nextIn} ms, but one is in ${LATER}`);
    const claimed = await claimAll(journal, LATER);
    assert(
      keys.every((key) => claimed.includes(key)),
      'countDue claimed what it counted',
    );
    const after = await journal.followUps.countDue({ kind: 'key' });
    assert(after.due === 0, 'countDue counts records that are claimed');
  },
};

/** Claims `limit` records at most. */
async function claimPage(
  journal: Handle,
  limit: number,
  lease = DUE_LEASE,
): Promise<readonly FollowUpRecord[]> {
  let unreadable = 0;
  const onUnreadable = (keys: readonly string[]) => {
    unreadable += keys.length;
  };
  const records = await journal.followUps.claimDue({ kind: 'key', limit, lease, onUnreadable });
  const count = records.length + unreadable;
  assert(count <= limit, `claimDue returned ${count} records, and its limit was ${limit}`);
  return records;
}

/** Claims all that is due, and returns the keys. */
async function claimAll(journal: Handle, lease = DUE_LEASE): Promise<string[]> {
  return (await claimPage(journal, 100, lease)).map(({ key }) => key);
}

/** Claims until a key has been returned. */
async function waitForClaim(journal: Handle, key: string, situation: string): Promise<FollowUpRecord> {
  const since = performance.now();
  for (;;) {
    const elapsed = performance.now() - since;
    const found = (await claimPage(journal, 100)).find((record) => record.key === key);
    if (found) return found;
    assert(elapsed < DUE_TIMEOUT, `claimDue never returned a record that is due: ${situation}`);
    await sleep(20);
  }
}

/** Creates a key that is due, since its outcome is unknown, and returns its record. */
async function createDueRecord(context: ConformanceContext, journal: Handle): Promise<FollowUpRecord> {
  const key = context.newKey();
  await recordUnknown(context, journal, key);
  return waitForClaim(journal, key, 'its outcome is unknown');
}

/** Records a step. */
async function update(
  journal: Handle,
  record: FollowUpRecord,
  checks: number,
  dueIn: number | null,
): Promise<FollowUpRecord> {
  const updated = await journal.followUps.update(record, { checks, reported: [] }, dueIn);
  assert(updated !== null, 'update returned null, although nothing else changed the record');
  return updated;
}
