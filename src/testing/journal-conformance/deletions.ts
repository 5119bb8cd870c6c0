import { assert, type ConformanceCases, complete, expectClaim, openStore } from './context.ts';

/** What `journal.prune` needs of a store. */
export const deletionCases: ConformanceCases = {
  async 'deletes the records that still have their version, and no others'(context) {
    const journal = await context.openHandle();
    const store = await openStore(context, 'delete');
    const [deleted, changed] = [context.newKey(), context.newKey()];
    const [last, kept] = [context.newKey(), context.newKey()];
    for (const key of [deleted, changed, last, kept]) await complete(context, journal, key);
    const unneeded = [{ key: 'no record', version: 'none' }];
    for (const key of [deleted, changed, last]) {
      const { version = '' } = (await store.read(key)) ?? {};
      unneeded.push({ key, version: key === changed ? 'of an earlier write' : version });
    }
    const count = await store.delete(unneeded);
    assert(count === 2, `delete returned ${count}, and two records had their version`);
    for (const key of [deleted, last])
      assert((await journal.read(key)) === null, 'a deleted record can be read');
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
};
