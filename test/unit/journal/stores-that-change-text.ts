import { createFaultyStore } from '../../helpers/faulty-store.ts';
import { deciding, KEYS, RESULT, shared, type Wrong } from './conformance-cases.ts';

/** What a database that was set up for something else does to keys and texts. */
export const storesThatChangeText: Wrong[] = [
  {
    what: 'folds the case of keys',
    open: deciding({ keyOf: (key) => key.toLowerCase() }),
    found: KEYS,
    says: ':Order"',
  },
  {
    what: 'takes the spaces off keys',
    open: deciding({ keyOf: (key) => key.trim() }),
    found: KEYS,
    says: ':order "',
  },
  {
    what: 'normalises keys',
    open: deciding({ keyOf: (key) => key.normalize() }),
    found: KEYS,
    says: 'cafe\u0301"',
  },
  {
    what: 'cuts keys short',
    open: deciding({ keyOf: (key) => key.slice(0, 191) }),
    found: KEYS,
    says: 'xy"',
  },
  {
    what: 'keeps keys in one byte a character',
    open: deciding({ keyOf: (key) => key.replace(/[^ -~]/g, '?') }),
    found: KEYS,
    says: '\u{1f4b4}"',
  },
  {
    what: 'keeps text in one byte a character',
    open: deciding({
      kept: ({ version, text }) => ({
        version,
        text: text.replace(/[^ -~]/g, '?'),
        writtenAt: performance.now(),
        droppedAt: null,
      }),
    }),
    found: RESULT,
    says: 'came back with another unicode, control',
  },
  {
    what: 'cannot keep a NUL',
    open: shared((records) => ({
      ...createFaultyStore(records),
      async write(key, change) {
        if (change.text.includes(String.raw`\u0000`)) throw new Error('unsupported Unicode escape sequence');
        return createFaultyStore(records).write(key, change);
      },
    })),
    found: RESULT,
    says: 'unsupported Unicode escape sequence',
  },
];
