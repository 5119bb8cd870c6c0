import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chooseSize } from '../helpers/sized.ts';

/** A process of its own: a world replaces the timers and the clocks. */
function simulate(...options: string[]) {
  const run = spawnSync(process.execPath, [join(import.meta.dirname, 'run.ts'), ...options], {
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  return { output: `${run.stdout}${run.stderr}`, status: run.status };
}

const listDigests = (output: string) => output.match(/^\d+ [\da-f]{64}$/gm) ?? [];

test('keeps each promise in worlds where everything occurs, one trace a seed', () => {
  const worlds = chooseSize(100, 1_000);
  const { output, status } = simulate('--seed', '1', '--worlds', `${worlds}`, '--digest');
  expect(output).not.toMatch(/violated|Never occurred/);
  expect(status).toBe(0);
  // One seed is one trace, whatever the process has run before.
  const last = simulate('--seed', `${worlds - 9}`, '--worlds', '10', '--digest').output;
  expect(listDigests(last)).toHaveLength(10);
  expect(listDigests(last)).toEqual(listDigests(output).slice(-10));
});
