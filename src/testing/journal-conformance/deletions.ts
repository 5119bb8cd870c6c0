import { ConfigurationError } from '../../errors.ts';
import { paymentKey } from '../../journal/record.ts';
import type { Resolution } from '../../journal/resolution.ts';
import { assert, sleep } from './assert.ts';
import {
  type ConformanceContext,
  type ConformanceTest,
  charge,
  complete,
  createWithoutCase,
  expectClaim,
  type Handle,
  note,
  recordUnknown,
} from './context.ts';

/** What `journal.prune` needs of a store. */
export const deletionCases: readonly ConformanceTest[] = [
  {
    name: 'deletes the records that still have their version, and no others',
    async test(context) {
      const journal = await context.openHandle();
      const { store } = await context.openHandle();
      if (typeof store.delete !== 'function')
        throw new ConfigurationError('The store of this journal has no delete, so it cannot do this.');
      const [deleted, changed, kept] = [context.newKey(), context.newKey(), context.newKey()];
      for (const key of [deleted, changed, kept]) await complete(context, journal, key);
      const unneeded: { key: string; version: string }[] = [];
      for (const key of [deleted, changed]) {
        const { version = '' } = (await store.read(key)) ?? {};
        unneeded.push({ key, version: key === changed ? 'of an earlier write' : version });
      }
      unneeded.push({ key: 'no record', version: 'none' });
      const count = await store.delete(unneeded);
      assert(count === 1, `delete returned ${count}, and one record had its version`);
      assert((await journal.read(deleted)) === null, 'a deleted record can be read');
      for (const key of [changed, kept])
        assert((await journal.read(key))?.state === 'completed', 'delete took a record of another version');
      const { completed } = store.list ? await journal.count() : { completed: 2 };
      assert(completed === 2, `count returned ${completed} completed keys, and 2 are left`);
      // It counts as new, and nothing of its old record is left.
      await expectClaim(journal, deleted);
      if (!store.countDue) return;
      const { due } = await journal.followUps.countDue({ kind: 'key' });
      assert(due === 2, `countDue returned ${due}, and 2 of the keys that are left are due`);
    },
  },
  {
    name: 'prunes the keys that nothing is left to do for, and no others',
    async test(context) {
      const journal = await context.openHandle();
      // Without it, prune cannot find what is old. The cases of list are about that.
      if (!journal.store.list) return;
      const [rejected, notSent, followed] = [context.newKey(), context.newKey(), context.newKey()];
      await complete(context, journal, rejected, { state: 'rejected' });
      await complete(context, journal, notSent, { state: 'not_sent' });
      await complete(context, journal, followed);
      await endFollowUp(journal, followed);

      const kept = new Map([
        ['in progress', context.newKey()],
        ['without an end of its follow-up', context.newKey()],
        ['unresolved', context.newKey()],
        ['resolved as closed', await resolve(context, journal, 'closed')],
        ['resolved as not_charged', await resolve(context, journal, 'not_charged')],
        ['resolved with its charge', await resolve(context, journal, { reference: context.newReference() })],
      ]);
      await expectClaim(journal, kept.get('in progress') ?? '');
      await complete(context, journal, kept.get('without an end of its follow-up') ?? '');
      await recordUnknown(context, journal, kept.get('unresolved') ?? '');
      await endFollowUp(journal, kept.get('resolved with its charge') ?? '');

      const before = await timeAfterAll();
      await expectPruned(journal, before, 3);
      for (const key of [rejected, notSent, followed])
        assert((await journal.read(key)) === null, 'a key that prune counted as deleted can be read');
      for (const [situation, key] of kept)
        assert((await journal.read(key)) !== null, `prune deleted a key that is ${situation}`);
    },
  },
  {
    name: 'prunes the payments of an order together, or not at all',
    async test(context) {
      const journal = await context.openHandle();
      if (!journal.store.list) return;
      for (const [id, last] of [
        ['done', 'rejected'],
        ['open', 'unknown'],
      ] as const) {
        for (const number of [1, 2]) {
          const intent = { ...charge, order: { id, number } };
          const claim = await expectClaim(journal, paymentKey(id, number), intent);
          await journal.complete(claim, { state: number === 2 ? last : 'rejected' });
        }
      }
      await expectPruned(journal, await timeAfterAll(), 2);
      for (const number of [1, 2]) {
        const [done, open] = [paymentKey('done', number), paymentKey('open', number)];
        assert((await journal.read(done)) === null, `payment ${number} of an order that is over is left`);
        assert((await journal.read(open)) !== null, `payment ${number} of an unresolved order was deleted`);
      }
    },
  },
];

async function resolve(
  context: ConformanceContext,
  journal: Handle,
  resolution: Resolution,
): Promise<string> {
  const key = context.newKey();
  await complete(context, journal, key, { state: 'unknown' });
  await journal.resolve(key, resolution, note);
  return key;
}

/** Records that the follow-up of a completed key has ended. */
async function endFollowUp(journal: Handle, key: string): Promise<void> {
  const { reference = '' } = (await journal.read(key)) ?? {};
  const [found] = await journal.followUps.find(reference);
  assert(found !== undefined, 'list did not return a completed key by its reference');
  await journal.followUps.update(found, { checks: 1, reported: [], ended: 'delivered' }, null);
}

/** Returns a time that is later than all records, in milliseconds since 1970. */
async function timeAfterAll(): Promise<number> {
  await sleep(2);
  return Date.now();
}

async function expectPruned(journal: Handle, before: number, expected: number): Promise<void> {
  const pruned = await journal.prune({ before });
  assert(pruned === expected, `prune returned ${pruned}, and ${expected} keys had nothing left to do`);
}

export const withoutDeleteCase = createWithoutCase(['delete'], () => []);
