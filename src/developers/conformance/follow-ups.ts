import { MAX_DUE_IN } from '../../journal/store.ts';
import {
  assert,
  type ConformanceCases,
  claim,
  createKeys,
  createWrite,
  expectDueAt,
  expectKeys,
  expectNear,
  expectRecord,
  expectSameRecord,
  LATER,
  readNow,
  SOON,
  writeRecord,
} from './context.ts';

const kinds = ['key', 'order'] as const;

/** What is due for a follow-up: when, once for each claim, and moved by each write. */
export const followUpCases: ConformanceCases = {
  async 'returns a record when it is due, and not before'(context) {
    const [writer, store] = [await context.openHandle(), await context.openPart('followUps')];
    const dueAt = (await readNow(store)) + SOON;
    await writeRecord(writer, 'order', { dueAt });
    const found = await expectDueAt(store, 'order', dueAt, LATER, 'a record');
    assert(found.at === dueAt, `claimDue returned a record at ${found.at}, which was due at ${dueAt}`);
    await expectSameRecord(writer, found, 'claimDue');
    expectNear(found.claimedAt, dueAt, await readNow(store), 'the time that claimDue returned');
  },
  async 'claims what is due of one kind, the earliest first'(context) {
    const store = await context.openPart('followUps');
    const now = await readNow(store);
    const keys = createKeys(5);
    for (const kind of kinds) {
      for (const index of [3, 0, 4, 2, 1])
        await writeRecord(store, `${kind} ${index}`, { kind, dueAt: now - 10 + index });
      await writeRecord(store, `${kind} later`, { kind, dueAt: now + LATER });
      await writeRecord(store, `${kind} never`, { kind });
    }
    await writeRecord(store, 'no index', null);
    for (const kind of kinds) {
      const { due } = await store.countDue({ kind });
      assert(due === keys.length, `countDue returned ${due}, and ${keys.length} of the kind ${kind} are due`);
      const [first, second] = [await claim(store, LATER, kind, 2), await claim(store, LATER, kind)];
      const own = keys.map((_, index) => `${kind} ${index}`);
      expectKeys(first.records, own.slice(0, 2), `claimDue of two of the kind ${kind}`);
      expectKeys(second.records, own.slice(2), `claimDue of the others of the kind ${kind}`);
    }
  },
  async 'gives a due record to one of many callers, until its lease ends'(context) {
    const stores = await Promise.all(createKeys(4).map(() => context.openPart('followUps')));
    const [store = await context.openPart('followUps')] = stores;
    const now = await readNow(store);
    const keys = createKeys(20);
    for (const key of keys) await writeRecord(store, key, { dueAt: now });
    const claims = [...stores, ...stores, ...stores].map((each) => claim(each, LATER, 'order', 3));
    const claimed = (await Promise.all(claims)).flatMap(({ records }) => records);
    claimed.push(...(await claim(store, LATER)).records);
    for (const key of keys) {
      const count = claimed.filter((record) => record.key === key).length;
      assert(count === 1, `claimDue returned a record that was due ${count} times within its lease`);
    }
    await writeRecord(store, 'again', { dueAt: now });
    const { claimedAt } = await expectDueAt(store, 'again', now, SOON, 'a record');
    await expectDueAt(store, 'again', claimedAt + SOON, LATER, 'a claimed record');
  },
  async 'changes nothing but the time when a record is due by a claim'(context) {
    const store = await context.openPart('followUps');
    const now = await readNow(store);
    const change = await writeRecord(store, 'order', {
      createdAt: now - 2,
      attentionAt: now - 1,
      dueAt: now,
    });
    await expectDueAt(store, 'order', now, LATER, 'a record');
    await expectRecord(store, 'order', change, 'after a claim');
    for (const by of ['createdAt', 'attentionAt'] as const) {
      const [listed] = (await store.list?.({ by, after: null, limit: 1 })) ?? [];
      const isSame = !store.list || listed?.at === change.index?.[by];
      assert(
        isSame,
        `list by ${by} returned a record at ${listed?.at} after a claim, not at ${change.index?.[by]}`,
      );
    }
    for (const key of createKeys(10)) {
      const { version } = await writeRecord(store, key, { dueAt: now });
      const { change: next } = createWrite(key, null, version);
      await Promise.all([claim(store, LATER), store.write(key, next)]);
      await expectRecord(store, key, next, 'written during a claim');
    }
  },
  async 'moves a record to when its latest write says, or to never'(context) {
    const [store, other] = [await context.openPart('followUps'), await context.openPart('followUps')];
    const now = await readNow(store);
    const expectClaimed = async (keys: string[], situation: string) =>
      expectKeys((await claim(other, LATER)).records, keys, `claimDue, after ${situation},`);
    await writeRecord(store, 'order', { dueAt: now });
    await expectClaimed(['order'], 'a write of a record that is due');
    await writeRecord(store, 'order', { dueAt: now - 1 });
    await expectClaimed(['order'], 'a claim and a write of a record that is due');
    await writeRecord(store, 'order', { dueAt: now });
    await writeRecord(store, 'order', { dueAt: now + LATER });
    await expectClaimed([], 'a record that was due is due later');
    await writeRecord(store, 'order', { dueAt: now });
    await writeRecord(store, 'order', {});
    await expectClaimed([], 'a record that was due is never due');
    await writeRecord(store, 'order', { dueAt: now });
    await writeRecord(store, 'order', null);
    await expectClaimed([], 'a record that was due has no index');
    await writeRecord(store, 'order', { kind: 'key', dueAt: now });
    await expectClaimed([], 'a record has become one of another kind');
  },
  async 'counts a record as due that is due too late'(context) {
    const store = await context.openPart('followUps');
    const latest = (await readNow(store)) + Math.floor(MAX_DUE_IN);
    await writeRecord(store, 'order right', { dueAt: latest - LATER });
    await writeRecord(store, 'order wrong', { dueAt: latest + LATER });
    const { due, nextIn } = await store.countDue({ kind: 'order' });
    assert(due === 1, `countDue returned ${due}, and one record is due later than MAX_DUE_IN from now`);
    expectNear(nextIn ?? 0, MAX_DUE_IN - 2 * LATER, MAX_DUE_IN - LATER, 'nextIn of countDue');
    expectKeys((await claim(store, LATER)).records, ['order wrong'], 'claimDue');
    expectKeys(
      (await claim(store, LATER)).records,
      [],
      'claimDue, within the lease of a record that was due too late,',
    );
  },
  async 'counts what is due, and tells when the next is'(context) {
    const [store, other] = [await context.openPart('followUps'), await context.openPart('followUps')];
    const expectCount = async (expected: number, nextAt: number | null, situation: string) => {
      const before = await readNow(other);
      const { due, nextIn } = await other.countDue({ kind: 'order' });
      assert(due === expected, `countDue returned ${due} instead of ${expected}, ${situation}`);
      const isKnown = (nextIn === null) === (nextAt === null);
      assert(isKnown, `countDue returned that the next is due in ${nextIn} ms, ${situation}`);
      if (nextIn === null || nextAt === null) return;
      expectNear(
        nextIn,
        nextAt - (await readNow(other)),
        nextAt - before,
        `nextIn of countDue, ${situation},`,
      );
    };
    const now = await readNow(store);
    await writeRecord(store, 'key', { kind: 'key', dueAt: now });
    await writeRecord(store, 'key later', { kind: 'key', dueAt: now + LATER / 2 });
    await writeRecord(store, 'order never', {});
    await writeRecord(store, 'no index', null);
    await expectCount(0, null, 'and no order is planned');
    for (const key of createKeys(3)) await writeRecord(store, key, { dueAt: now });
    await expectCount(3, null, 'and three are due');
    await writeRecord(store, 'order latest', { dueAt: now + 3 * LATER });
    await writeRecord(store, 'order later', { dueAt: now + 2 * LATER });
    await expectCount(3, now + 2 * LATER, 'and two are due later');
    await expectCount(3, now + 2 * LATER, 'and it had been counted before');
    const claimed = await claim(store, LATER);
    await expectCount(0, claimed.now + LATER, 'and all that were due are claimed');
  },
};
