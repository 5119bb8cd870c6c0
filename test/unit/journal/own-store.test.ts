import { link, mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, test } from 'vitest';
import type { JournalStore } from '../../../src/journal/store.ts';
import { journalConformance } from '../../../src/testing/index.ts';
import { isExhaustive } from '../../helpers/sized.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';

/** A merchant's own store that protects charges, as the documentation of JournalStore describes it, and no more. */
function tableStore(database: DatabaseSync, table: string): JournalStore {
  database.exec(`CREATE TABLE IF NOT EXISTS ${table} (key TEXT PRIMARY KEY, version TEXT, text TEXT)`);
  const find = database.prepare(`SELECT version, text FROM ${table} WHERE key = ?`);
  const insert = database.prepare(`INSERT INTO ${table} VALUES (?, ?, ?) ON CONFLICT DO NOTHING`);
  const update = database.prepare(`UPDATE ${table} SET version = ?, text = ? WHERE key = ? AND version = ?`);
  return {
    async read(key) {
      const row = find.get(key);
      const record = row ? { version: String(row.version), text: String(row.text) } : null;
      return { record, now: Date.now() };
    },
    async write(key, { expected, version, text }) {
      const { changes } =
        expected === null ? insert.run(key, version, text) : update.run(version, text, key, expected);
      return changes === 1;
    },
  };
}

const chargesOnly = { without: ['list', 'followUps', 'prune'] } as const;

if (isExhaustive)
  describe('a table', () => {
    const database = new DatabaseSync(':memory:');
    afterAll(() => database.close());
    const cases = journalConformance((table) => tableStore(database, table), chargesOnly);
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
    if (number === 0) return { number, record: null };
    const [version = '', text = ''] = (await readFile(join(folder, String(number)), 'utf8')).split('\n');
    return { number, record: { version, text } };
  };
  return {
    async read(key) {
      const folder = await folderOf(key);
      await mkdir(folder, { recursive: true });
      const { record } = await latest(folder);
      return { record, now: Date.now() };
    },
    async write(key, { expected, version, text }) {
      const folder = await folderOf(key);
      await mkdir(folder, { recursive: true });
      const found = await latest(folder);
      if ((found.record?.version ?? null) !== expected) return false;
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
  const cases = journalConformance((storage) => folderStore(join(folder.path, storage)), chargesOnly);
  test.each(cases)('$name', ({ run }) => run());
});
