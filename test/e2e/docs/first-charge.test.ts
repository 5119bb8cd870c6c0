import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createMerchantProject } from '../../helpers/installed-package.ts';
import { blocksOf } from './blocks.ts';
import { pages } from './pages.ts';
import { start, startSandboxCommand } from './shop-process.ts';

const readme = pages.filter(({ path }) => path === 'README.md');
const block = readme.flatMap(blocksOf).find(({ heading }) => heading === 'Quick start');

test('charges and delivers once with the lines of the README, in three runs', async () => {
  const [, shown = ''] = /^npx payment-sandbox (.+)$/m.exec(readme[0]?.text ?? '') ?? [];
  const [option = '', state = ''] = shown.split(' ');
  expect(option).toBe('--state');
  const project = await createMerchantProject();
  await writeFile(join(project, 'charge.mjs'), block?.code ?? '');
  const run = (line: string) =>
    start('sh', ['-c', `${line} && exec "${process.execPath}" charge.mjs`], project);
  const options = [option, join(project, state)];
  const sandbox = await startSandboxCommand(...options);

  const shop = run(sandbox.line);
  await sandbox.approve(await sandbox.findPrompt());
  expect(await shop.ended).toEqual([0, null]);
  expect(shop.output.text).toBe('order 17 is paid\ndeliver order 17\n');

  // The sandbox stops and starts again at the same address.
  await sandbox.stop();
  const restarted = await startSandboxCommand('--port', new URL(sandbox.url).port, ...options);
  for (let count = 2; count <= 3; count++) {
    const again = run(sandbox.line);
    expect(await again.ended).toEqual([0, null]);
    expect(again.output.text).toBe('order 17 is paid\n');
  }
  expect(await restarted.hasPrompt()).toBe(false);
});
