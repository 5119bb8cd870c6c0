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
  expect(readme[0]?.text).toContain('```sh\nnpx payment-sandbox\n```');
  const sandbox = await startSandboxCommand();
  const project = await createProject('msw');
  onTestFinished(() => rm(project, { recursive: true }));
  await writeFile(join(project, 'charge.mjs'), block?.code ?? '');
  const shop = start('sh', ['-c', `${sandbox.line} && exec "${process.execPath}" charge.mjs`], project);

  await sandbox.approve(await sandbox.findPrompt());
  expect(await shop.ended).toEqual([0, null]);
  expect(shop.output.text).toMatch(/^paid: deliver order 17\n$/);
});
