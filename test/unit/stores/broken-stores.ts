import type { RecordChange, StoreRead } from '../../../src/journal/store.ts';
import {
  type BrokenStores,
  changeWrites,
  createWholeStore,
  pause,
  shareStores,
} from './conformance-cases.ts';

const changeReads = (change: (read: StoreRead) => Partial<StoreRead>) =>
  shareStores(({ read }) => ({
    async read(key) {
      const found = await read(key);
      return { ...found, ...change(found) };
    },
  }));

const changeResults = (change: (isWritten: boolean) => boolean) =>
  shareStores(({ write }) => ({ write: async (key, given) => change(await write(key, given)) }));

const changeTexts = (change: (text: string) => string) =>
  changeWrites(({ text }, _, key) => ({ text: key.startsWith('order') ? text : change(text) }));

const changeKeys = (change: (key: string) => string) =>
  shareStores(({ read, write }) => ({
    read: (key) => read(change(key)),
    write: (key, given) => write(change(key), given),
  }));

/** Takes another version for the expected one. */
const compareVersions = (isSame: (expected: string | null, version: string | null) => boolean) =>
  changeWrites(({ expected }, found) => {
    const version = found?.version ?? null;
    return isSame(expected, version) ? { expected: version } : {};
  });

/** Compares, and writes later. */
const writeLater = (isLate: (expected: string | null) => boolean) =>
  shareStores(({ read, write }) => {
    const readVersion = async (key: string) => (await read(key)).record?.version ?? null;
    return {
      async write(key, change) {
        if (!isLate(change.expected)) return write(key, change);
        if ((await readVersion(key)) !== change.expected) return false;
        await pause(1);
        while (!(await write(key, { ...change, expected: await readVersion(key) })));
        return true;
      },
    };
  });

/** Writes several records together, in a wrong way. */
const writeTogether = (
  change: (given: RecordChange, first: RecordChange | undefined) => Partial<RecordChange>,
  report = (results: boolean[]) => results,
) =>
  shareStores(({ write }) => ({
    async writeAll(writes) {
      const changed = writes.map(({ key, change: given }) =>
        write(key, { ...given, ...change(given, writes[0]?.change) }),
      );
      return report(await Promise.all(changed));
    },
  }));

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

/** Keeps what a handle has read. */
const openCaches = () =>
  shareStores(({ read }) => {
    const seen = new Map<string, StoreRead>();
    return {
      async read(key) {
        const found = seen.get(key) ?? (await read(key));
        if (found.record) seen.set(key, found);
        return found;
      },
    };
  });

function openUntilClosed() {
  let store = createWholeStore();
  const close = () => {
    store = createWholeStore();
  };
  return () => ({ store, close });
}

const STARTED_AT = Date.now();
const toOneByte = (text: string) => text.replace(/[^ -~]/g, '?');

export const brokenStores: BrokenStores = {
  'reads no record where there is none, and the time by one clock': {
    'returns an empty record': [
      'read returned a record, and there is none',
      changeReads(({ record }) => ({ record: record ?? { version: '', text: '' } })),
    ],
    'tells seconds': ['the time that read returned is', changeReads(({ now }) => ({ now: now / 1_000 }))],
    'has a clock that stands still': ['does not go forward', changeReads(() => ({ now: STARTED_AT }))],
    'has a clock for each handle': ['000 ms before the one that another handle read', openOwnClocks()],
    'is new for ever': ['read returned isNew after the first write', changeReads(() => ({ isNew: true }))],
  },
  'writes only if the record has the expected version': {
    'compares nothing': [
      'write returned true, and there is no record to replace',
      compareVersions(() => true),
    ],
    'writes over a record where none was expected': [
      'write returned true, and there is a record, but none was expected',
      compareVersions((expected) => expected === null),
    ],
    'replaces any version': [
      'write returned true, and the version is',
      compareVersions((expected, version) => expected !== null && version !== null),
    ],
    'compares versions without their case': [
      'write returned true, and the version is',
      compareVersions((expected, version) => expected?.toLowerCase() === version),
    ],
    'compares versions without spaces at their end': [
      'write returned true, and the version is',
      compareVersions((expected, version) => expected?.trim() === version),
    ],
    'says that it wrote': [
      'write returned true, and there is no record to replace',
      changeResults(() => true),
    ],
    'says that it did not': ['write returned false, and there is no record, as', changeResults(() => false)],
    'keeps the first text': [
      'read returned another text than was written, after a write',
      changeWrites(({ text }, found) => ({ text: found?.text ?? text })),
    ],
  },
  'lets one of many writes of a key at once succeed': {
    'inserts in two steps': [
      'of 12 writes at once succeeded: an insert',
      writeLater((expected) => !expected),
    ],
    'writes the text of those that fail': [
      'read returned another text than was written, after 12 writes at once: an insert',
      shareStores(({ write, put }) => ({
        async write(key, change) {
          const isWritten = await write(key, change);
          if (!isWritten) await put(key, { text: change.text });
          return isWritten;
        },
      })),
    ],
    'replaces in two steps': ['of 12 writes at once succeeded: a replacement', writeLater(Boolean)],
  },
  'shows a write to each handle once it has resolved': {
    'keeps its records in the handle': ['read returned no record, after a write', () => createWholeStore()],
    'keeps what it has read': ['read returned another version than was written, after a write', openCaches()],
    'resolves before it wrote': [
      'read returned no record, after a write',
      shareStores(({ write }) => ({
        async write(key, change) {
          setTimeout(() => write(key, change), 100);
          return true;
        },
      })),
    ],
  },
  'keeps a separate record for each key, however it is spelled': {
    'folds the case of keys': ['write returned false for "Order 17"', changeKeys((key) => key.toLowerCase())],
    'takes the spaces off keys': ['write returned false for "order 17 "', changeKeys((key) => key.trim())],
    'normalises keys': ['cafe\u0301"', changeKeys((key) => key.normalize())],
    'cuts keys short': ['xxxxy" (600 characters)', changeKeys((key) => key.slice(0, 599))],
    'keeps keys in one byte a character': ['write returned false for', changeKeys(toOneByte)],
    'reads keys without their case': [
      'read returned another version than was written, of the key "Order 17"',
      shareStores(({ read }) => ({ read: (key) => read(key.toLowerCase()) })),
    ],
    'lists keys without their case': [
      'list returned the key "order 17" (8 characters) 2 times',
      shareStores(({ list }) => ({
        async list(query) {
          const listed = await list(query);
          return listed.map((record) => ({ ...record, key: record.key.toLowerCase() }));
        },
      })),
    ],
  },
  'returns a text unchanged, whatever it contains': {
    'keeps text in one byte a character': ['of the text with unicode', changeTexts(toOneByte)],
    'drops a NUL': ['of the text with escapes', changeTexts((text) => text.replace(String.raw`\u0000`, ''))],
    'reads escapes': [
      'of the text with quotes',
      changeTexts((text) => text.replaceAll(String.raw`\\`, '\\')),
    ],
    'cuts text at 64 kB': ['of the text with length', changeTexts((text) => text.slice(0, 65_535))],
    'keeps a parsed object': [
      'of the text with json',
      changeTexts((text) => (text.startsWith('{') ? JSON.stringify(JSON.parse(text)) : text)),
    ],
  },
  'gives each of many writes together its own result': {
    'says that all were written': [
      'the result of write 4 of 13 together is true',
      writeTogether(
        () => ({}),
        (results) => results.map(() => true),
      ),
    ],
    'returns the results in another order': [
      'the result of write 1 of 13 together is false',
      writeTogether(
        () => ({}),
        (results) => results.toReversed(),
      ),
    ],
    'writes none when one fails': [
      'the result of write 1 of 13 together is false',
      shareStores(() => ({ writeAll: async (writes) => writes.map(() => false) })),
    ],
    'gives all the text of the first': [
      'read returned another text than was written, of write 2 of 13 together',
      writeTogether((_, first) => ({ text: first?.text ?? '' })),
    ],
    'gives all the times of the first': [
      'one of many writes together has got the times of another one',
      writeTogether(({ index }, first) => ({ index: index && (first?.index ?? null) })),
    ],
    'gives none an index': [
      'list or claimDue, after writes together, returned []',
      writeTogether(() => ({ index: null })),
    ],
  },
  'keeps every record after all handles are closed': {
    'forgets when it is closed': [
      'read returned no record, after all handles were closed',
      openUntilClosed(),
    ],
  },
};
