import type { JournalStore, StoreRead } from '../../../src/journal/store.ts';
import {
  type BrokenStores,
  changeKeys,
  changeWrites,
  createWholeStore,
  pause,
  shareStores,
  type WholeStore,
} from './conformance-cases.ts';

/** A store whose `read` returns something else. */
const changeReads = (change: (read: StoreRead) => Partial<StoreRead>) =>
  shareStores(({ read }) => ({
    async read(key) {
      const found = await read(key);
      return { ...found, ...change(found) };
    },
  }));

/** A store whose `writeAll` is a wrong one. */
const writeTogether = (writeAll: (store: WholeStore) => NonNullable<JournalStore['writeAll']>) =>
  shareStores((store) => ({ writeAll: writeAll(store) }));

/** A store that compares, and writes later. */
const writeLater = (isLate: (expected: string | null) => boolean) =>
  shareStores(({ read, write }) => ({
    async write(key, change) {
      if (!isLate(change.expected)) return write(key, change);
      const found = await read(key);
      await pause(1);
      if ((found.record?.version ?? null) !== change.expected) return false;
      const readVersion = async () => (await read(key)).record?.version ?? null;
      while (!(await write(key, { ...change, expected: await readVersion() })));
      return true;
    },
  }));

/** A store that takes another version for the expected one. */
const compareVersions = (isSame: (expected: string | null, version: string | null) => boolean) =>
  changeWrites(({ expected }, found) => {
    const version = found?.version ?? null;
    return isSame(expected, version) ? { expected: version } : {};
  });

const STARTED_AT = Date.now();

const toOneByte = (text: string) => text.replace(/[^ -~]/g, '?');

/** Opens handles whose clocks each show another time. */
function openOwnClocks() {
  let handles = 0;
  return shareStores(({ read }) => {
    const behind = 10_000 * handles++;
    return {
      async read(key) {
        const { record, now } = await read(key);
        return { record, now: now - behind };
      },
    };
  });
}

function openUntilClosed() {
  let store = createWholeStore();
  return () => ({
    store,
    close() {
      store = createWholeStore();
    },
  });
}

export const brokenStores: BrokenStores = {
  'reads no record where there is none, and the time by one clock': [
    [
      'returns an empty record',
      'read returned a record, and there is none',
      changeReads(({ record }) => ({ record: record ?? { version: '', text: '' } })),
    ],
    [
      'tells the time in seconds',
      'the time that read returned is',
      changeReads(({ now }) => ({ now: now / 1_000 })),
    ],
    ['has a clock that stands still', 'does not go forward', changeReads(() => ({ now: STARTED_AT }))],
    ['has a clock for each handle', '000 ms before the one that another handle read', openOwnClocks()],
    ['is new for ever', 'read returned isNew after the first write', changeReads(() => ({ isNew: true }))],
  ],
  'writes only if the record has the expected version': [
    [
      'writes whatever was expected',
      'write returned true, and there is no record to replace',
      compareVersions(() => true),
    ],
    [
      'writes over a record where none was expected',
      'write returned true, and there is a record, but none was expected',
      compareVersions((expected) => expected === null),
    ],
    [
      'replaces any version',
      'was expected',
      compareVersions((expected, version) => expected !== null && version !== null),
    ],
    [
      'replaces the version before',
      'write returned true, and the version that was expected has been replaced',
      (() => {
        const before = new Map<string | null, string | null>();
        return changeWrites(({ version, expected }, found) => {
          before.set(version, expected);
          const isBefore = expected !== null && found !== null && before.get(found.version) === expected;
          return isBefore ? { expected: found.version } : {};
        });
      })(),
    ],
    [
      'compares versions without their case',
      'write returned true, and the version is',
      compareVersions((expected, version) => expected?.toLowerCase() === version),
    ],
    [
      'compares versions without spaces at their end',
      'write returned true, and the version is',
      compareVersions((expected, version) => expected?.trim() === version),
    ],
    [
      'says that it wrote what it did not',
      'write returned true, and there is no record to replace',
      shareStores(({ write }) => ({ write: async (key, change) => (await write(key, change)) || true })),
    ],
    [
      'says that it did not write',
      'write returned false, and there is no record, as expected',
      shareStores(({ write }) => ({ write: async (key, change) => (await write(key, change)) && false })),
    ],
    [
      'keeps the first text',
      'read returned another text than was written, after a write',
      changeWrites(({ text }, found) => ({ text: found?.text ?? text })),
    ],
  ],
  'lets one of many writes of a key at once succeed': [
    [
      'inserts in two steps',
      '12 of 12 writes at once succeeded: an insert',
      writeLater((expected) => expected === null),
    ],
    [
      'replaces in two steps',
      '12 of 12 writes at once succeeded: a replacement',
      writeLater((expected) => expected !== null),
    ],
    [
      'refuses all when several come at once',
      '0 of 12 writes at once succeeded: an insert',
      shareStores(({ write }) => {
        let running = 0;
        return {
          async write(key, change) {
            running++;
            await pause(1);
            const isAlone = running === 1;
            await pause(1);
            running--;
            return isAlone && write(key, change);
          },
        };
      }),
    ],
  ],
  'shows a write to each handle once it has resolved': [
    ['keeps its records in the handle', 'read returned no record, after a write', () => createWholeStore()],
    [
      'resolves before it wrote',
      'read returned no record, after a write',
      shareStores(({ read, write }) => ({
        async write(key, change) {
          setTimeout(() => write(key, change), 100);
          return ((await read(key)).record?.version ?? null) === change.expected;
        },
      })),
    ],
    [
      'reads what it has read before',
      'read returned another version than was written, after a write',
      shareStores(({ read, write }) => {
        const seen = new Map<string, StoreRead>();
        return {
          async read(key) {
            const found = seen.get(key) ?? (await read(key));
            if (found.record) seen.set(key, found);
            return found;
          },
          async write(key, change) {
            seen.delete(key);
            return write(key, { ...change, expected: (await read(key)).record?.version ?? null });
          },
        };
      }),
    ],
  ],
  'keeps a separate record for each key, however it is spelled': [
    ['folds the case of keys', 'write returned false for "Order 17"', changeKeys((key) => key.toLowerCase())],
    ['takes the spaces off keys', 'write returned false for "order 17 "', changeKeys((key) => key.trim())],
    ['normalises keys', 'cafe\u0301"', changeKeys((key) => key.normalize())],
    ['cuts keys short', 'xxxxy" (600 characters)', changeKeys((key) => key.slice(0, 599))],
    [
      'cuts keys by their bytes',
      '\u6587" (600 characters)',
      changeKeys((key) => Buffer.from(key).subarray(0, 1_798).toString()),
    ],
    ['keeps keys in one byte a character', 'write returned false for', changeKeys(toOneByte)],
    [
      'lists keys without their case',
      'list returned the key "order 17" (8 characters) 2 times',
      shareStores(({ list }) => ({
        list: async (query) =>
          (await list(query)).map((record) => ({ ...record, key: record.key.toLowerCase() })),
      })),
    ],
  ],
  'returns a text unchanged, whatever it contains': [
    [
      'keeps text in one byte a character',
      'of the text with unicode',
      changeWrites(({ text }) => ({ text: toOneByte(text) })),
    ],
    [
      'cannot keep a NUL',
      'of the text with escapes',
      changeWrites(({ text }) => ({ text: text.replace(String.raw`\u0000`, '') })),
    ],
    [
      'reads escapes',
      'of the text with quotes',
      changeWrites(({ text }) => ({ text: text.replaceAll(String.raw`\\u`, String.raw`\u`) })),
    ],
    [
      'parses numbers',
      'of the text with numbers',
      changeWrites(({ text }, _, key) =>
        key === 'numbers' ? { text: JSON.stringify(JSON.parse(text)) } : {},
      ),
    ],
    [
      'sorts the names of objects',
      'of the text with order',
      changeWrites(({ text }, _, key) => (key === 'order' ? { text: JSON.stringify(JSON.parse(text)) } : {})),
    ],
    [
      'cuts text at 64 kB',
      'of the text with long',
      changeWrites(({ text }) => ({ text: text.slice(0, 65_535) })),
    ],
  ],
  'gives each of many writes together its own result': [
    [
      'says that all were written together',
      'the result of write 4 of 13 together is true',
      writeTogether(({ write }) => async (writes) => {
        await Promise.all(writes.map(({ key, change }) => write(key, change)));
        return writes.map(() => true);
      }),
    ],
    [
      'writes none when one fails',
      'the result of write 1 of 13 together is false',
      writeTogether(() => async (writes) => writes.map(() => false)),
    ],
    [
      'returns the results in another order',
      'the result of write 1 of 13 together is false',
      writeTogether(({ write }) => async (writes) => {
        const results = await Promise.all(writes.map(({ key, change }) => write(key, change)));
        return results.toReversed();
      }),
    ],
    [
      'gives all the text of the first',
      'read returned another text than was written, of write 2 of 13 together',
      writeTogether(
        ({ write }) =>
          (writes) =>
            Promise.all(
              writes.map(({ key, change }) => write(key, { ...change, text: writes[0]?.change.text ?? '' })),
            ),
      ),
    ],
    [
      'gives all the times of the first',
      'one of many writes together has got the times of another one',
      writeTogether(
        ({ write }) =>
          (writes) =>
            Promise.all(
              writes.map(({ key, change }) =>
                write(key, { ...change, index: change.index && (writes[0]?.change.index ?? null) }),
              ),
            ),
      ),
    ],
    [
      'gives none an index',
      'list or claimDue, after writes together, returned []',
      writeTogether(
        ({ write }) =>
          (writes) =>
            Promise.all(writes.map(({ key, change }) => write(key, { ...change, index: null }))),
      ),
    ],
  ],
  'keeps every record after all handles are closed': [
    [
      'forgets when it is closed',
      'read returned no record, after all handles were closed',
      openUntilClosed(),
    ],
  ],
};
