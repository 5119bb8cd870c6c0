import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { sqliteJournal } from '../../../src/journal/sqlite.ts';
import { createTempFolder } from '../../helpers/temp-folder.ts';

const program = fileURLToPath(new URL('programs/claims.ts', import.meta.url));
const KEYS = 60;

function temporaryFile(): string {
  const folder = createTempFolder();
  onTestFinished(folder.remove);
  return join(folder.path, 'payments.db');
}

test('lets one of several processes on one file claim each key', async () => {
  const file = temporaryFile();
  const names = ['a', 'b', 'c', 'd', 'e'];
  const children = names.map((name) => spawn(process.execPath, [program, file, name, String(KEYS)]));
  onTestFinished(() => {
    for (const child of children) child.kill('SIGKILL');
  });
  await Promise.all(children.map(({ stdout }) => once(stdout, 'data')));
  for (const { stdin } of children) stdin.write('go\n');
  const said = await Promise.all(
    children.map(async (child) => {
      const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
      if (out === '') throw new Error(err);
      const states: unknown = JSON.parse(out);
      return Array.isArray(states) ? states : [];
    }),
  );

  const database = new DatabaseSync(file);
  onTestFinished(() => database.close());
  const journal = sqliteJournal(database);
  for (let index = 0; index < KEYS; index++) {
    const states = said.map((states) => states[index]);
    expect(states.filter((state) => state === 'claimed')).toHaveLength(1);
    expect(states.filter((state) => !['claimed', 'in_progress', 'completed'].includes(state))).toEqual([]);
    const owner = names[states.indexOf('claimed')];
    expect(await journal.read(`order-${index}`)).toMatchObject({
      state: 'completed',
      reference: `TXN-${owner}-${index}`,
    });
  }
});
