import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { blocksOf } from './blocks.ts';
import { pages } from './pages.ts';
import { createProject } from './run-test-file.ts';
import { start, startSandboxCommand } from './shop-process.ts';

const readme = pages.filter(({ path }) => path === 'README.md');
const block = readme.flatMap(blocksOf).find(({ heading }) => heading === 'Quick start');

test('charges the sandbox with the lines of the README as they stand', async () => {
  const [, shown = ''] = /^npx payment-sandbox (.+)$/m.exec(readme[0]?.text ?? '') ?? [];
  const [option = '', state = ''] = shown.split(' ');
  expect(option).toBe('--state');
  const project = await createProject('msw');
  onTestFinished(() => rm(project, { recursive: true }));
  const options = [option, join(project, state)];
  const sandbox = await startSandboxCommand(...options);
  await writeFile(join(project, 'charge.mjs'), block?.code ?? '');
  const run = () => start('sh', ['-c', `${sandbox.line} && exec "${process.execPath}" charge.mjs`], project);

  const shop = run();
  await sandbox.approve(await sandbox.findPrompt());
  expect(await shop.ended).toEqual([0, null]);
  expect(shop.output.text).toMatch(/^paid: deliver order 17\n$/);

  // The sandbox stops and starts again at the same address.
  await sandbox.stop();
  const restarted = await startSandboxCommand('--port', new URL(sandbox.url).port, ...options);
  const again = run();
  expect(await again.ended).toEqual([0, null]);
  expect(again.output.text).toBe(shop.output.text);
  expect(await restarted.hasPrompt()).toBe(false);
});
