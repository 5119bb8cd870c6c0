import type { JournalStore, ListedRecord, ListQuery } from '../../journal/store.ts';
import {
  assert,
  type ConformanceCases,
  createKeys,
  expectKeys,
  expectSameRecord,
  LATER,
  readNow,
  SOON,
  waitUntil,
  writeRecord,
} from './context.ts';

/** The latest time of an index, in milliseconds since 1970. */
const MAX_TIME = 8.64e15;

export const listCases: ConformanceCases = {
  async 'lists records by time and key, and each once in all pages'(context) {
    const [store, reader] = [await context.openHandle(), await context.openPart('list')];
    const now = (await readNow(store)) - LATER;
    const keys = createKeys(17);
    // More than a page at one time, and some before and after.
    const times = keys.map((_, index) => (index < 2 ? index : now + Number(index > 4) + Number(index > 12)));
    const places = keys.map((key, index) => ({ key, at: times[index] ?? 0 }));
    // As they do not come in their order.
    for (const { key, at } of [...places.filter((_, index) => index % 2), ...places.toReversed()])
      await writeRecord(store, key, {
        kind: key.endsWith('3') ? 'key' : 'order',
        createdAt: at,
        attentionAt: at,
      });
    for (const by of ['createdAt', 'attentionAt'] as const) {
      for (const limit of [1, 3, 100]) {
        const listed = await listPages(reader, by, limit);
        expectKeys(listed, keys, `list by ${by}, in pages of ${limit},`);
        for (const [index, record] of listed.entries()) {
          const at = times[index];
          assert(record.at === at, `list by ${by} returned a record at ${record.at} instead of ${at}`);
          await expectSameRecord(store, record, 'list');
        }
      }
    }
    // The latest time that a store has to hold.
    await writeRecord(store, 'order late', { createdAt: MAX_TIME });
    const [late] = (await listPages(reader, 'createdAt', 100)).slice(-1);
    assert(
      late?.at === MAX_TIME,
      `list returned ${late?.key} at ${late?.at} as the last, which is at ${MAX_TIME}`,
    );
  },
  async 'lists and counts who needs a person once its time has come'(context) {
    const [store, reader] = [await context.openHandle(), await context.openPart('list')];
    const expectAttention = async (keys: string[], situation: string) => {
      expectKeys(await listPages(reader, 'attentionAt', 100), keys, `list by attentionAt, ${situation},`);
      const { records, attention } = await reader.count();
      assert(records === 3, `count returned ${records} records, and 3 have an index`);
      assert(attention === keys.length, `count returned attention ${attention} instead of ${keys.length}`);
    };
    await writeRecord(store, 'reference', null);
    await writeRecord(store, 'order never', {});
    await writeRecord(store, 'order later', { kind: 'key', attentionAt: (await readNow(store)) + LATER });
    await writeRecord(store, 'order now', { attentionAt: await readNow(store) });
    await expectAttention(['order now'], 'and one record is listed later, and one never');
    const soon = (await readNow(store)) + SOON;
    await writeRecord(store, 'order later', { attentionAt: soon });
    await waitUntil(store, soon);
    await expectAttention(['order now', 'order later'], 'once the time of both has come');
  },
  async 'moves a record in the lists when its index changes'(context) {
    const [store, reader] = [await context.openHandle(), await context.openPart('list')];
    const expectLists = async (created: string[], attention: string[], situation: string) => {
      expectKeys(await listPages(reader, 'createdAt', 100), created, `list by createdAt, ${situation},`);
      expectKeys(
        await listPages(reader, 'attentionAt', 100),
        attention,
        `list by attentionAt, ${situation},`,
      );
      const { records, attention: count } = await reader.count();
      const isRight = records === created.length && count === attention.length;
      assert(isRight, `count returned ${records} records, attention ${count}, ${situation}`);
    };
    await writeRecord(store, 'moved', { createdAt: 10, attentionAt: 30 });
    await writeRecord(store, 'order', { createdAt: 20, attentionAt: 20 });
    await expectLists(['moved', 'order'], ['order', 'moved'], 'after two writes');
    await writeRecord(store, 'moved', { createdAt: 30, attentionAt: 10 });
    await expectLists(['order', 'moved'], ['moved', 'order'], 'after the index of one has changed');
    await writeRecord(store, 'moved', { createdAt: 30 });
    await expectLists(['order', 'moved'], ['order'], 'after the attentionAt of one has become null');
    await writeRecord(store, 'moved', null);
    await expectLists(['order'], ['order'], 'after the index of one has become null');
    await writeRecord(store, 'moved', { createdAt: 5, attentionAt: 5 });
    await expectLists(['moved', 'order'], ['moved', 'order'], 'after one has an index again');
  },
};

async function listPages(
  store: Required<Pick<JournalStore, 'list'>>,
  by: ListQuery['by'],
  limit: number,
): Promise<ListedRecord[]> {
  const all: ListedRecord[] = [];
  // One page over and over would never end.
  while (all.length < 100) {
    const page = await store.list({ by, after: all.at(-1) ?? null, limit });
    assert(page.length <= limit, `list returned ${page.length} records, and its limit was ${limit}`);
    all.push(...page);
    if (page.length < limit) break;
  }
  return all;
}
