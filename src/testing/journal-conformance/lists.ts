import type { JournalEntry, JournalQuery } from '../../journal/journal.ts';
import type { Completion } from '../../journal/record.ts';
import {
  assert,
  type ConformanceCases,
  complete,
  expectClaim,
  type Handle,
  LONG_LEASE,
  note,
  recordUnknown,
  SHORT_LEASE,
  sleep,
} from './context.ts';

/** Finding keys without knowing them: by state, by reference, in order, and in pages. */
export const listCases: ConformanceCases = {
  async 'lists keys by state, the oldest first, and each key once'(context) {
    const [writer, reader] = [await context.openHandle(), await context.openHandle()];
    const states = ['unknown', 'completed', 'rejected', 'unknown', 'not_sent', 'begun', 'unknown'] as const;
    const keys = new Map<string, (typeof states)[number]>();
    for (const state of states) {
      const key = context.newKey();
      if (state === 'begun') await expectClaim(writer, key);
      else await complete(context, writer, key, state === 'completed' ? undefined : { state });
      keys.set(key, state);
      await sleep(2);
    }
    const own = [...keys.keys()];
    for (const state of new Set(states)) {
      const entries = await list(reader, { state });
      const expected = own.filter((key) => keys.get(key) === state);
      assertKeys(entries, expected, `in state ${state}`);
      assert(
        entries.every((entry) => entry.state === state),
        `list returned a key that is not ${state}`,
      );
    }
    assertKeys(await list(reader, {}), own, 'in any state');
    const page = (await reader.store.list?.({ by: 'state', value: 'unknown', after: null, limit: 2 })) ?? [];
    assert(page.length === 2, `list returned ${page.length} records, and its limit was 2`);
    for (const { key, version, text, createdAt } of page) {
      const record = await reader.store.read(key);
      const isSame = version === record?.version && text === record.text;
      assert(isSame, 'list returned another version or text than read');
      assert(createdAt === (await reader.read(key))?.createdAt, 'list returned another createdAt');
    }
  },
  async 'moves a key to its new state in the list'(context) {
    const [journal, reader] = [await context.openHandle(), await context.openHandle()];
    const key = context.newKey();
    const expectOnlyIn = async (state: JournalEntry['state']) => {
      const entries = await list(reader, {});
      const found = entries.map((entry) => entry.state).join(', ');
      assert(found === state, `list returned a key that is ${state} as ${found || 'nothing'}`);
      assertKeys(await list(reader, { state }), [key], `in state ${state}`);
    };
    const claim = await expectClaim(journal, key);
    await expectOnlyIn('begun');
    await journal.complete(claim, { state: 'unknown', reference: context.newReference() });
    await expectOnlyIn('unknown');
    await journal.resolve(key, 'not_charged', note);
    await expectOnlyIn('not_charged');
    await complete(context, journal, key, { state: 'rejected' });
    await expectOnlyIn('rejected');
    await complete(context, journal, key);
    await expectOnlyIn('completed');
  },
  async 'lists all pages, also of keys that began at the same time'(context) {
    const [writer, reader] = [await context.openHandle(), await context.openHandle()];
    const reference = context.newReference();
    const createdAt = Date.now() - 1_000;
    // More than a page at one time, and some before and after.
    const times = Array.from(
      { length: 230 },
      (_, index) => createdAt + (index < 60 ? 0 : index < 210 ? 1 : 2),
    );
    const keys = context.newKeys(times.length);
    await Promise.all(
      keys.map(async (key, index) => {
        const claim = await expectClaim(writer, key);
        const history = { ...claim.history, createdAt: times[index] ?? createdAt };
        await writer.complete({ ...claim, history }, { state: 'unknown', reference });
      }),
    );
    for (const query of [{ reference }, { state: 'unknown' }] as const) {
      const entries = await list(reader, query);
      assertKeys(entries, keys, `with ${Object.keys(query)}`, { isAnyOrder: true });
      const isSorted = entries.every(
        (entry, index) => entry.createdAt >= (entries[index - 1]?.createdAt ?? 0),
      );
      assert(isSorted, 'list returned a key before one that began earlier');
    }
    const limited = await list(reader, { reference, limit: 130 });
    assert(limited.length === 130, `list returned ${limited.length} keys, and its limit was 130`);
  },
  async 'lists the keys of a reference, and no others'(context) {
    const [writer, reader] = [await context.openHandle(), await context.openHandle()];
    const [completed, unknown] = [context.newKey(), context.newKey()];
    const [longer, upper] = [context.newKey(), context.newKey()];
    const reference = context.newReference();
    const end = (key: string, completion: Completion) => complete(context, writer, key, completion);
    await end(completed, { state: 'completed', result: { reference } });
    await end(unknown, { state: 'unknown', reference });
    await end(longer, { state: 'unknown', reference: `${reference}1` });
    await end(upper, { state: 'unknown', reference: reference.toUpperCase() });
    const references = [reference, `${reference}1`, context.newReference()];
    const named = await reader.store.listByReferences?.(references.map((name) => name.toLowerCase()));
    const keys = named?.map(({ key }) => key).toSorted();
    const areAll = !keys || keys.join() === [completed, unknown, longer, upper].toSorted().join();
    assert(areAll, `listByReferences returned ${keys?.length} records of three references, instead of 4`);
    for (const { key, ...record } of named ?? []) {
      const kept = await reader.store.read(key);
      const isSame = record.version === kept?.version && record.text === kept.text;
      assert(isSame, 'listByReferences returned another version or text than read');
    }
    assertKeys(await list(reader, { reference }), [completed, unknown], 'with a reference', {
      isAnyOrder: true,
    });
    assertKeys(await list(reader, { reference, state: 'unknown' }), [unknown], 'with a reference');
    const found = context.newReference();
    await writer.resolve(unknown, { reference: found }, note);
    assertKeys(await list(reader, { reference }), [completed], 'with a reference');
    assertKeys(await list(reader, { reference: found }), [unknown], 'that was resolved');
    assertKeys(await list(reader, { reference: context.newReference() }), [], 'with an unused reference');
  },
  async 'lists an expired claim as unknown, and a live one as begun'(context) {
    const journal = await context.openHandle({ lease: LONG_LEASE });
    const other = await context.openHandle({ lease: SHORT_LEASE });
    const key = context.newKey();
    await expectClaim(journal, key);
    await sleep(2 * SHORT_LEASE);
    assertKeys(await list(journal, { state: 'begun' }), [key], 'in state begun, within the lease');
    assertKeys(await list(journal, { state: 'unknown' }), [], 'in state unknown, within the lease');
    for (let attempt = 0; attempt < 60; attempt++) {
      const [entry] = await list(other, { state: 'unknown' });
      if (!entry) {
        await sleep(50);
        continue;
      }
      assert(
        entry.state === 'unknown' && !entry.inProgress,
        `list returned an expired claim as ${entry.state}`,
      );
      assertKeys(await list(other, { state: 'begun' }), [], 'in state begun, after the lease');
      return;
    }
    throw new Error('list never returned an expired claim as unknown');
  },
  async 'counts the keys in each state'(context) {
    const journal = await context.openHandle();
    const reader = await context.openHandle();
    for (const key of context.newKeys(3)) {
      await recordUnknown(context, journal, key);
      await journal.resolve(key, 'not_charged', note);
    }
    const before = await reader.count();
    assert(before.unknown === 0, `count returned ${before.unknown} keys in state unknown, and none is`);
    await recordUnknown(context, journal, context.newKey());
    const { not_charged: resolved, unknown, completed } = await reader.count();
    assert(resolved === 3, `count returned ${resolved} keys in state not_charged, and 3 are`);
    assert(unknown === 1 && completed === 0, 'count returned keys in another state than they are');
  },
};

/** Lists the entries of a query. */
async function list(journal: Handle, query: JournalQuery): Promise<JournalEntry[]> {
  const entries: JournalEntry[] = [];
  const times = new Map<string, number>();
  for await (const entry of journal.list(query)) {
    entries.push(entry);
    const count = (times.get(entry.key) ?? 0) + 1;
    times.set(entry.key, count);
    // One page over and over would never end.
    assert(count < 10, 'list returned a key ten times');
  }
  return entries;
}

function assertKeys(
  entries: readonly JournalEntry[],
  expected: readonly string[],
  which: string,
  { isAnyOrder = false } = {},
): void {
  const keys = entries.map(({ key }) => key);
  const isSame = isAnyOrder
    ? keys.toSorted().join() === expected.toSorted().join()
    : keys.join() === expected.join();
  const [found, all] = [new Set(keys).size, expected.length];
  assert(
    isSame,
    `list returned ${keys.length} keys ${which}, ${found} of them different, instead of ${all}` +
      (keys.length === all ? ' in their order' : ''),
  );
}
