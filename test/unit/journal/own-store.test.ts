import { link, mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, test } from 'vitest';
import { createJournal, type JournalStore } from '../../../src/journal/index.ts';
import { journalConformance } from '../../../src/testing/index.ts';
import { isExhaustive } from '../../helpers/sized.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';

/** A merchant's own store that protects charges, as the documentation of JournalStore describes it, and no more. */
function tableStore(database: DatabaseSync, table: string): JournalStore {
  database.exec(
    `CREATE TABLE IF NOT EXISTS ${table} (key TEXT PRIMARY KEY, version TEXT, text TEXT, at REAL)`,
  );
  const find = database.prepare(`SELECT version, text, at FROM ${table} WHERE key = ?`);
  const insert = database.prepare(`INSERT INTO ${table} VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`);
  const update = database.prepare(
    `UPDATE ${table} SET version = ?, text = ?, at = ? WHERE key = ? AND version = ?`,
  );
  return {
    async read(key) {
      const row = find.get(key);
      if (!row) return null;
      const { version, text, at } = row;
      return { version: String(version), text: String(text), age: Date.now() - Number(at) };
    },
    async write(key, { expected, version, text }) {
      const { changes } =
        expected === null
          ? insert.run(key, version, text, Date.now())
          : update.run(version, text, Date.now(), key, expected);
      return changes === 1;
    },
  };
}

const chargesOnly = { without: ['list', 'followUps', 'prune'] } as const;

if (isExhaustive)
  describe('a table', () => {
    const database = new DatabaseSync(':memory:');
    afterAll(() => database.close());
    const cases = journalConformance(
      (options, table) => createJournal(tableStore(database, table), options),
      chargesOnly,
    );
    test.concurrent.each(cases)('$name', ({ run }) => run());
  });

/** One folder for each key. Each write is a file, and only one writer can take its number. */
function folderStore(root: string): JournalStore {
  const folderOf = async (key: string) => {
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key));
    return join(root, Buffer.from(digest).toString('hex'));
  };
  const latest = async (folder: string) => {
    const numbers = (await readdir(folder)).filter((name) => /^\d+$/.test(name)).map(Number);
    const number = Math.max(0, ...numbers);
    if (number === 0) return { number, version: null, text: '', age: 0 };
    const path = join(folder, String(number));
    const [version = '', text = ''] = (await readFile(path, 'utf8')).split('\n');
    return { number, version, text, age: Date.now() - (await stat(path)).mtimeMs };
  };
  return {
    async read(key) {
      const folder = await folderOf(key);
      await mkdir(folder, { recursive: true });
      const { version, text, age } = await latest(folder);
      return version === null ? null : { version, text, age };
    },
    async write(key, { expected, version, text }) {
      const folder = await folderOf(key);
      await mkdir(folder, { recursive: true });
      const found = await latest(folder);
      if (found.version !== expected) return false;
      const draft = join(folder, `draft-${version}`);
      const file = await open(draft, 'wx');
      await file.writeFile(`${version}\n${text}`);
      await file.sync();
      await file.close();
      const taken = await link(draft, join(folder, String(found.number + 1))).then(
        () => true,
        () => false,
      );
      await rm(draft);
      return taken;
    },
  };
}

describe('a folder of files', () => {
  const folder = createTempFolder();
  afterAll(() => folder.remove());
  const cases = journalConformance(
    (options, storage) => createJournal(folderStore(join(folder.path, storage)), options),
    chargesOnly,
  );
  test.each(cases)('$name', ({ run }) => run());
});
