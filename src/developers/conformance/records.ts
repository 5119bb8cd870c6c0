import type { JournalStore, RecordWrite } from '../../journal/store.ts';
import {
  assert,
  CLOCK_TOLERANCE,
  type ConformanceCases,
  createKeys,
  createWrite,
  expectKeys,
  expectNear,
  expectRecord,
  LATER,
  readNow,
  waitUntil,
  writeRecord,
} from './context.ts';

const DAY = 86_400_000;

/** The longest key, in characters. */
const MAX_KEY = 600;

/** Pairs of keys. A store that pads, folds, normalises, truncates or matches patterns takes a pair for one key. */
const unusualKeys: readonly string[] = [
  'order 17',
  'Order 17',
  'order 17 ',
  ' order 17',
  'order 1',
  'order 17/1',
  'order %',
  'order _',
  'order *',
  'order caf\u00e9',
  'order cafe\u0301',
  'order \u{1f4b3}\u6ce8\u6587',
  `order it's "quoted" \\ \`so\` $1 ? {x} :x --;`,
  'order ../../order/17',
  'null',
  'x'.repeat(MAX_KEY),
  `${'x'.repeat(MAX_KEY - 1)}y`,
  '\u6ce8'.repeat(MAX_KEY),
  `${'\u6ce8'.repeat(MAX_KEY - 1)}\u6587`,
  '\u{1f4b3}'.repeat(MAX_KEY / 2),
  `${'\u{1f4b3}'.repeat(MAX_KEY / 2 - 1)}\u{1f4b4}`,
];

const unusualTexts: Readonly<Record<string, string>> = {
  unicode: JSON.stringify(
    'Merci, \u0645\u0631\u062d\u0628\u0627 \u{1f4b3} caf\u00e9 cafe\u0301 \u2028\u2029',
  ),
  escapes: JSON.stringify('a\u0000b\u0007\r\n\t\u001f\u007f \ud800 and \udfff'),
  quotes: JSON.stringify(`'"\`\\ $1 :name ? %s {} \\u0041 `),
  json: '{"b": [0, -1, 1.5, 1e21, 1.0], "a": {"2": null, "1": ""}, "": {}}',
  length: JSON.stringify('a\u6ce8'.repeat(50_000)),
};

/** What a store must do: read, write if the version is the expected one, and keep it as it is. */
export const recordCases: ConformanceCases = {
  async 'reads no record where there is none, and the time by one clock'(context) {
    const [store, ...others] = [await context.openHandle(), ...(await context.openHandles(2))];
    await expectRecord(store, 'order 17', null, 'and there is none');
    const first = await readNow(store);
    expectNear(first, Date.now() - DAY, Date.now() + DAY, 'the time that read returned');
    await waitUntil(store, first);
    let before = first;
    for (const handle of [store, ...others, ...others, store]) {
      const now = await readNow(handle);
      const back = before - now;
      assert(
        back <= CLOCK_TOLERANCE,
        `read returned a time ${back} ms before the one that another handle read`,
      );
      before = now;
    }
    await writeRecord(store, 'order 17');
    for (const handle of [store, ...others]) {
      const { isNew } = await handle.read('order 18');
      assert(isNew === undefined, 'read returned isNew after the first write');
    }
  },
  async 'writes only if the record has the expected version'(context) {
    const [store, other] = [await context.openHandle(), await context.openHandle()];
    const key = 'order 17';
    const tryWrite = async (expected: string | null, isRight: boolean, situation: string) => {
      const { change } = createWrite(key, null, expected);
      const isWritten = await other.write(key, change);
      assert(isWritten === isRight, `write returned ${isWritten}, ${situation}`);
      await expectRecord(store, key, isWritten ? change : kept, `after a write: ${situation}`);
      if (isWritten) kept = change;
      return change.version;
    };
    let kept: Parameters<typeof expectRecord>[2] = null;
    await tryWrite('of no record', false, 'and there is no record to replace');
    const first = await tryWrite(null, true, 'and there is no record, as expected');
    await tryWrite(null, false, 'and there is a record, but none was expected');
    for (const version of [first.toUpperCase(), `${first} `, first.slice(0, -1), ''])
      await tryWrite(
        version,
        false,
        `and the version is ${first}, but ${version || 'an empty one'} was expected`,
      );
    const second = await tryWrite(first, true, 'and the version is the expected one');
    await tryWrite(first, false, 'and the version that was expected has been replaced');
    await tryWrite(second, true, 'and the version is the expected one');
  },
  async 'lets one of many writes of a key at once succeed'(context) {
    const handles = await context.openHandles(4);
    for (const key of createKeys(10)) {
      let expected: string | null = null;
      for (const round of ['an insert', 'a replacement', 'a second replacement']) {
        const changes = [...handles, ...handles, ...handles].map(async (handle, index) => {
          const write = createWrite(key, null, expected);
          const isTogether = index % 2 === 0;
          const isWritten = await (isTogether
            ? writeTogether(handle, write)
            : handle.write(key, write.change));
          return isWritten ? [write.change] : [];
        });
        const [written, ...more] = (await Promise.all(changes)).flat();
        const count = more.length + Number(written !== undefined);
        assert(written !== undefined && count === 1, `${count} of 12 writes at once succeeded: ${round}`);
        for (const handle of handles)
          await expectRecord(handle, key, written, `after 12 writes at once: ${round}`);
        expected = written.version;
      }
    }
  },
  async 'shows a write to each handle once it has resolved'(context) {
    const handles = await context.openHandles(3);
    for (const writer of [...handles, ...handles]) {
      const change = await writeRecord(writer, 'order 17');
      for (const reader of [...handles, await context.openHandle()])
        await expectRecord(reader, 'order 17', change, 'after a write of another handle had resolved');
    }
  },
  async 'keeps a separate record for each key, however it is spelled'(context) {
    const [writer, reader] = [await context.openHandle(), await context.openHandle()];
    const writes = unusualKeys.map((key) => createWrite(key, { createdAt: 1 }));
    for (const { key, change } of writes) {
      const isWritten = await writer.write(key, change);
      assert(isWritten, `write returned false for ${describeText(key)}, which is the key of no record`);
    }
    for (const { key, change } of writes)
      await expectRecord(reader, key, change, `of the key ${describeText(key)}`);
    const listed = (await reader.list?.({ by: 'createdAt', after: null, limit: 100 })) ?? writes;
    for (const key of unusualKeys) {
      const count = listed.filter((record) => record.key === key).length;
      assert(count === 1, `list returned the key ${describeText(key)} ${count} times`);
    }
  },
  async 'returns a text unchanged, whatever it contains'(context) {
    const [writer, reader] = [await context.openHandle(), await context.openHandle()];
    for (const [name, text] of Object.entries(unusualTexts)) {
      const change = { ...createWrite(name).change, text };
      assert(await writer.write(name, change), 'write returned false, and there was no record');
      await expectRecord(reader, name, change, `of the text with ${name}`);
    }
  },
  async 'gives each of many writes together its own result'(context) {
    const [store, other] = [await context.openHandle(), await context.openHandle()];
    const [taken = '', changed = '', ...free] = createKeys(12);
    const kept = await writeRecord(other, taken);
    const before = await writeRecord(other, changed);
    const writes = free.map((key, index) => createWrite(key, { createdAt: index, dueAt: index }));
    writes.splice(3, 0, createWrite(taken));
    writes.splice(6, 0, createWrite(changed, null, before.version));
    const lost = createWrite('order lost', null, 'of no record');
    writes.push(lost);
    const results = (await store.writeAll?.(writes)) ?? [];
    for (const [index, { key, change }] of writes.entries()) {
      const result = results[index] ?? (await store.write(key, change));
      const isRight = key !== taken && change !== lost.change;
      assert(
        result === isRight,
        `the result of write ${index + 1} of ${writes.length} together is ${result}`,
      );
      const expected = isRight ? change : key === taken ? kept : null;
      await expectRecord(other, key, expected, `of write ${index + 1} of ${writes.length} together`);
    }
    const listed = await other.list?.({ by: 'createdAt', after: null, limit: 100 });
    const due = await other.claimDue?.({ kind: 'order', limit: 100, lease: LATER });
    for (const found of [listed, due?.records]) {
      if (!found) continue;
      expectKeys(found, free, 'list or claimDue, after writes together,');
      const isRight = found.every(({ at }, index) => at === index);
      assert(isRight, 'one of many writes together has got the times of another one');
    }
  },
  async 'keeps every record after all handles are closed'(context) {
    const [store, other] = [await context.openHandle(), await context.openHandle()];
    const [first, second] = [await writeRecord(store, 'order 1'), await writeRecord(other, 'order 2')];
    await context.closeAll();
    const later = await context.openHandle();
    await expectRecord(later, 'order 1', first, 'after all handles were closed');
    await expectRecord(later, 'order 2', second, 'after all handles were closed');
  },
};

/** Writes a record together with another one, as the journal does if others write too. */
async function writeTogether(store: JournalStore, write: RecordWrite): Promise<boolean> {
  const results = await store.writeAll?.([write, createWrite(write.change.version)]).catch(() => undefined);
  return results?.[0] ?? (await store.write(write.key, write.change));
}

const describeText = (text: string) =>
  `${JSON.stringify(text.length > 60 ? `${text.slice(0, 20)}…${text.slice(-5)}` : text)} (${text.length} characters)`;
