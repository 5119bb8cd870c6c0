/** Stores that break a promise each: for each case of `journalConformance`, what it says of a store, and how that is opened. */

import { readFileSync } from 'node:fs';
import { runInThisContext } from 'node:vm';
import ts from 'typescript';
import type { OpenStore } from '../../../src/developers/mock/index.ts';
import {
  type JournalStore,
  MAX_DUE_IN,
  type RecordChange,
  type StoreRead,
} from '../../../src/journal/store.ts';
import { memoryStore } from '../../../src/stores/memory.ts';
import { parsePatch, putIn } from '../../faults/faults.ts';
import { asWhole } from '../../helpers/store-suite.ts';

type BrokenStore = readonly [caseName: string, says: string, open: OpenStore];

/** Each handle on a storage is one on the same records. `change` replaces methods of a handle. */
export function shareStores(
  change: (store: ReturnType<typeof asWhole>) => Partial<JournalStore> = () => ({}),
  create = memoryStore,
): OpenStore {
  const stores = new Map<string, JournalStore>();
  return (storage) => {
    const store = stores.get(storage) ?? create();
    stores.set(storage, store);
    return { ...store, ...change(asWhole(store)) };
  };
}

export const pause = (milliseconds: number) =>
  new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

const file = 'src/stores/memory.ts';
const [, source = ''] = readFileSync(file, 'utf8').split(/^export (?=function memoryStore)/m);

/** Returns `memoryStore` with other lines in it. */
function change(says: string, patch: string): () => JournalStore {
  const changed = putIn(source, { id: says, what: says, file, replace: parsePatch(patch) });
  const { outputText } = ts.transpileModule(changed, { compilerOptions: { target: ts.ScriptTarget.ESNext } });
  const make: unknown = runInThisContext(`((MAX_DUE_IN) => { ${outputText} return memoryStore; })`);
  return typeof make === 'function' ? make(MAX_DUE_IN) : memoryStore;
}

/** Those of broken-stores.txt: `memoryStore`, whose lines with a minus are those with a plus. */
const changed = readFileSync(new URL('broken-stores.txt', import.meta.url), 'utf8')
  .split(/^# /m)
  .slice(1)
  .flatMap((part): BrokenStore[] => {
    const [name = ''] = part.split('\n', 1);
    const patches = part.slice(name.length + 1).matchAll(/^([^-+\n].*)\n((?:[-+].*\n)+)/gm);
    return [...patches].map(([, says = '', patch = '']) => {
      let open: OpenStore | undefined;
      return [
        name,
        says,
        (storage) => {
          open ??= shareStores(undefined, change(says, patch));
          return open(storage);
        },
      ];
    });
  });

const changeKeys = (change: (key: string) => string) =>
  shareStores(({ read, write }) => ({
    read: (key) => read(change(key)),
    write: (key, given) => write(change(key), given),
  }));

const changeTexts = (change: (text: string) => string) =>
  shareStores(({ write }) => ({
    write: (key, { text, ...given }) =>
      write(key, { ...given, text: key.startsWith('order') ? text : change(text) }),
  }));

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

/** Compares all of several writes, and then makes those that were right, whatever there is by then. */
const compareFirst = () =>
  shareStores(({ read, write }) => ({
    async writeAll(writes) {
      const readVersion = async (key: string) => (await read(key)).record?.version ?? null;
      const found = await Promise.all(writes.map(({ key }) => readVersion(key)));
      await pause(1);
      return await Promise.all(
        writes.map(async ({ key, change: given }, index) =>
          found[index] === given.expected
            ? await write(key, { ...given, expected: await readVersion(key) })
            : false,
        ),
      );
    },
  }));

/** Compares a record, and then deletes it, whatever there is by then. */
const deleteLate = () =>
  shareStores(({ read, delete: deleteNow }) => ({
    async delete(records) {
      const found = await Promise.all(records.map(({ key }) => read(key)));
      const right = records.filter(({ version }, index) => found[index]?.record?.version === version);
      await pause(1);
      const latest = right.map(async ({ key }) => ({
        key,
        version: (await read(key)).record?.version ?? '',
      }));
      return await deleteNow(await Promise.all(latest));
    },
  }));

/** Writes whole records back that it has claimed, whatever there is by then. */
const claimLate = () =>
  shareStores(({ read, write, claimDue }) => ({
    async claimDue(claim) {
      const claimed = await claimDue(claim);
      await pause(1);
      for (const { key, version, text } of claimed.records) {
        const { record } = await read(key);
        if (record?.version === version) continue;
        const found = { expected: record?.version ?? null, version, text, mustCommit: false, index: null };
        await write(key, found);
      }
      return claimed;
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

function openUntilClosed(): OpenStore {
  let store = memoryStore();
  const close = () => {
    store = memoryStore();
  };
  return () => ({ store, close });
}

const toOneByte = (text: string) => text.replace(/[^ -~]/g, '?');

const KEYS = 'keeps a separate record for each key, however it is spelled';
const TEXTS = 'returns a text unchanged, whatever it contains';
const TOGETHER = 'gives each of many writes together its own result';
const SHOWN = 'shows a write to each handle once it has resolved';

export const brokenStores: readonly BrokenStore[] = [
  ...changed,
  [
    'reads no record where there is none, and the time by one clock',
    '000 ms before the one that another handle read',
    openOwnClocks(),
  ],
  ['lets one of many writes of a key at once succeed', 'of 12 writes at once succeeded', compareFirst()],
  [
    'deletes the records that still have their version, and no others',
    'a record was deleted and written at once',
    deleteLate(),
  ],
  [
    'changes nothing but the time when a record is due by a claim',
    'read returned another version than was written, written during a claim',
    claimLate(),
  ],
  [SHOWN, 'read returned no record, after a write', () => memoryStore()],
  [SHOWN, 'read returned another version than was written, after a write', openCaches()],
  [
    'keeps every record after all handles are closed',
    'read returned no record, after all handles were closed',
    openUntilClosed(),
  ],
  [KEYS, 'write returned false for "Order 17"', changeKeys((key) => key.toLowerCase())],
  [KEYS, 'write returned false for "order 17 "', changeKeys((key) => key.trim())],
  [KEYS, 'cafe\u0301"', changeKeys((key) => key.normalize())],
  [KEYS, 'xxxxy" (600 characters)', changeKeys((key) => key.slice(0, 599))],
  [KEYS, 'write returned false for', changeKeys(toOneByte)],
  [TEXTS, 'of the text with unicode', changeTexts(toOneByte)],
  [TEXTS, 'of the text with escapes', changeTexts((text) => text.replace(String.raw`\u0000`, ''))],
  [TEXTS, 'of the text with quotes', changeTexts((text) => text.replaceAll(String.raw`\\`, '\\'))],
  [TEXTS, 'of the text with length', changeTexts((text) => text.slice(0, 65_535))],
  [
    TEXTS,
    'of the text with json',
    changeTexts((text) => (text.startsWith('{') ? JSON.stringify(JSON.parse(text)) : text)),
  ],
  [
    TOGETHER,
    'the result of write 4 of 13 together is true',
    writeTogether(
      () => ({}),
      (results) => results.map(() => true),
    ),
  ],
  [
    TOGETHER,
    'the result of write 1 of 13 together is false',
    writeTogether(
      () => ({}),
      (results) => results.toReversed(),
    ),
  ],
  [
    TOGETHER,
    'read returned another text than was written, of write 2 of 13 together',
    writeTogether((_, first) => ({ text: first?.text ?? '' })),
  ],
  [
    TOGETHER,
    'one of many writes together has got the times of another one',
    writeTogether(({ index }, first) => ({ index: index && (first?.index ?? null) })),
  ],
  [TOGETHER, 'list or claimDue, after writes together, returned []', writeTogether(() => ({ index: null }))],
];
