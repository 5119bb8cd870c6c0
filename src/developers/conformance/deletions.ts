import {
  assert,
  type ConformanceCases,
  createKeys,
  createWrite,
  expectRecord,
  readNow,
  writeRecord,
} from './context.ts';

/** What `journal.prune` needs of a store. */
export const deletionCases: ConformanceCases = {
  async 'deletes the records that still have their version, and no others'(context) {
    const [store, reader] = [await context.openPart('prune'), await context.openHandle()];
    const dueAt = await readNow(store);
    const [first = '', changed = '', upper = '', last = '', kept = ''] = createKeys(5);
    const index = { attentionAt: 1, dueAt };
    const before = await writeRecord(store, changed, index);
    const changes = new Map<string, Awaited<ReturnType<typeof writeRecord>>>();
    for (const key of [first, changed, upper, last, kept])
      changes.set(key, await writeRecord(store, key, index));
    const versionOf = (key: string) => changes.get(key)?.version ?? '';
    const count = await store.delete([
      { key: 'no record', version: versionOf(kept) },
      { key: first, version: versionOf(first) },
      { key: changed, version: before.version },
      { key: upper, version: versionOf(upper).toUpperCase() },
      { key: last, version: versionOf(last) },
    ]);
    assert(count === 2, `delete returned ${count}, and two records had their version`);
    for (const key of [first, last]) await expectRecord(reader, key, null, 'after it was deleted');
    for (const key of [changed, upper, kept])
      await expectRecord(reader, key, changes.get(key) ?? null, 'after others were deleted');
    // Nothing of the old record is left.
    await writeRecord(reader, first, {});
    const { records, attention } = (await store.count?.()) ?? { records: 4, attention: 3 };
    const isRight = records === 4 && attention === 3;
    assert(isRight, `count returned ${records} records, attention ${attention}, and 4 are left, attention 3`);
    const { due } = (await store.countDue?.({ kind: 'order' })) ?? { due: 3 };
    assert(due === 3, `countDue returned ${due}, and 3 of the records that are left are due`);
    for (const key of createKeys(10)) {
      const { version } = await writeRecord(reader, key);
      const { change } = createWrite(key, null, version);
      const ends = await Promise.all([store.delete([{ key, version }]), reader.write(key, change)]);
      assert(ends.filter(Boolean).length === 1, 'a record was deleted and written at once');
    }
  },
};
