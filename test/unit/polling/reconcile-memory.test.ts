import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const program = fileURLToPath(new URL('programs/reconciles.ts', import.meta.url));

test('holds nothing of a reconcile that has ended', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', program]);
  expect(JSON.parse(stdout)).toEqual({ held: [], gc: 'function' });
});
