import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import { claimKey } from '../../helpers/claims.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';

const KEYS = 60;

function openTemporaryFile(): { file: string; database: DatabaseSync } {
  const folder = createTempFolder();
  const file = join(folder.path, 'payments.db');
  const database = new DatabaseSync(file);
  onTestFinished(() => {
    database.close();
    folder.remove();
  });
  return { file, database };
}

/** Runs a program in several processes that begin at once, and returns what each printed as JSON. */
async function runAtOnce(program: string, lists: string[][]): Promise<unknown[][]> {
  const path = fileURLToPath(new URL(`programs/${program}`, import.meta.url));
  const children = lists.map((list) => spawn(process.execPath, [path, ...list]));
  onTestFinished(() => {
    for (const child of children) child.kill('SIGKILL');
  });
  await Promise.all(children.map(({ stdout }) => once(stdout, 'data')));
  for (const { stdin } of children) stdin.write('go\n');
  return await Promise.all(
    children.map(async (child) => {
      const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
      if (out === '') throw new Error(err);
      const printed: unknown = JSON.parse(out);
      return Array.isArray(printed) ? printed : [];
    }),
  );
}

test('lets one of several processes on a new file claim each key', async () => {
  const { file, database } = openTemporaryFile();
  const table = 'payments';
  const names = ['a', 'b', 'c'];
  const printed = await runAtOnce(
    'claims.ts',
    names.map((name) => [file, name, String(KEYS), table]),
  );
  const journal = sqliteJournal(database, { table });
  for (let index = 0; index < KEYS; index++) {
    const states = printed.map((states) => states[index]);
    expect(states.filter((state) => state === 'claimed')).toHaveLength(1);
    const others = states.filter((state) => !['claimed', 'in_progress', 'completed'].includes(String(state)));
    expect(others).toEqual([]);
    const owner = names[states.indexOf('claimed')];
    expect(await journal.read(`order-${index}`)).toMatchObject({
      state: 'completed',
      reference: `TXN-${owner}-${index}`,
    });
  }
});

test('shares due records among several processes on one file', async () => {
  const { file, database } = openTemporaryFile();
  // Its own key must not become due meanwhile.
  const journal = sqliteJournal(database, { lease: 3_600_000 });
  await claimKey(journal, 'order-0');
  database.exec(
    `WITH RECURSIVE series(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM series WHERE i < 1000)
    INSERT INTO payments_journal (key, version, record, written_at, kind, state, created_at, due_at)
    SELECT 'order-' || i, 'v-' || i, record, written_at, kind, state, created_at, written_at FROM payments_journal, series WHERE key = 'order-0'`,
  );
  const claimed = await runAtOnce('claims-due.ts', Array(3).fill([file]));
  expect(claimed.flat()).toHaveLength(1000);
  expect(new Set(claimed.flat()).size).toBe(1000);
  expect(claimed.filter((keys) => keys.length < 5)).toEqual([]);
});
