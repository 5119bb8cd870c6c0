import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { buildSchema } from '../../../src/journal/sqlite-table.ts';
import { openStore, useSqliteFile } from '../../helpers/sqlite-stores.ts';

const KEYS = 60;
const TABLE = 'payments';

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

test('lets one of several processes on a new file insert each key', async () => {
  const database = useSqliteFile()();
  const names = ['a', 'b', 'c'];
  const file = database.location() ?? '';
  const printed = await runAtOnce(
    'claims.ts',
    names.map((name) => [file, name, String(KEYS), TABLE]),
  );
  const store = openStore(database, TABLE);
  for (let index = 0; index < KEYS; index++) {
    const owned = printed.map((results) => results[index]);
    expect(owned.toSorted()).toEqual([false, false, true]);
    const owner = names[owned.indexOf(true)];
    expect(await store.read(`order-${index}`)).toMatchObject({
      record: { version: `${owner}2`, text: owner },
    });
  }
});

test('shares due records among several processes on one file', async () => {
  const database = useSqliteFile()();
  database.exec(buildSchema(TABLE).join(';'));
  database.exec(
    `WITH RECURSIVE series(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM series WHERE i < 1000)
    INSERT INTO ${TABLE} (key, version, record, kind, created_at, due_at)
    SELECT 'order-' || i, 'v-' || i, '{}', 'key', i, i FROM series`,
  );
  const claimed = await runAtOnce('claims-due.ts', Array(3).fill([database.location()]));
  expect(claimed.flat()).toHaveLength(1000);
  expect(new Set(claimed.flat()).size).toBe(1000);
  expect(claimed.filter((keys) => keys.length < 5)).toEqual([]);
});
