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

test('no promise is broken in worlds in which everything occurs', () => {
  const { output, status } = simulate('--seed', '1', '--worlds', chooseSize('100', '1000'));
  expect(output).not.toMatch(/violated|Never occurred/);
  expect(status).toBe(0);
});

test('one seed is one trace, also after other worlds', () => {
  const last = (output: string) => output.split('\n').find((line) => line.startsWith('19 '));
  const [after, alone] = ['17', '19'].map((seed) =>
    last(simulate('--seed', seed, '--worlds', seed === '17' ? '3' : '1', '--digest').output),
  );
  expect(alone).toMatch(/^19 [\da-f]{64}$/);
  expect(after).toBe(alone);
});
