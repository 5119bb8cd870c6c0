import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTempFolder } from '../../helpers/temp-folder.ts';
import type { RunningDatabase } from './database.ts';

/**
 * Makes a folder for a file of SQLite. A file has no server that could stop: it is taken away by a process that locks it
 * and does not go on, as a stuck one does.
 */
export function createSqliteFile(): RunningDatabase {
  const folder = createTempFolder();
  const place = join(folder.path, 'payments.db');
  let release = async () => {};
  return {
    place,
    async takeAway() {
      release = await lockFile(place);
    },
    bringBack: () => release(),
    async stop() {
      await release();
      folder.remove();
    },
  };
}

/** Locks a file from another process, until the function that it returns is called. */
export async function lockFile(place: string): Promise<() => Promise<void>> {
  const program = `
    const { DatabaseSync } = require('node:sqlite');
    const database = new DatabaseSync(process.argv[1], { timeout: 10_000 });
    database.exec('BEGIN IMMEDIATE');
    console.log('locked');
    setInterval(() => {}, 1_000);`;
  const child = spawn(process.execPath, ['--no-warnings', '--eval', program, place], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
  if (child.exitCode !== null) throw new Error('The file could not be locked.');
  return async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
}

/** Returns the bytes of a file and of its write-ahead log. */
export async function dumpSqliteFile(place: string): Promise<string> {
  return [place, `${place}-wal`]
    .filter((file) => existsSync(file))
    .map((file) => readFileSync(file, 'latin1'))
    .join('\n');
}
