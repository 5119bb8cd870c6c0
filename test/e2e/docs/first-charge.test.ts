import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findFreePort } from '../../helpers/free-port.ts';
import { blocksOf } from './blocks.ts';
import { pages } from './pages.ts';
import { createProject } from './run-test-file.ts';
import { start, startSandboxCommand } from './shop-process.ts';

const readme = pages.filter(({ path }) => path === 'README.md');
const block = readme.flatMap(blocksOf).find(({ heading }) => heading === 'Quick start');

/** A folder with the package and the program, and how to start it there. */
async function createShop(change = (code: string) => code) {
  const project = await createProject('msw');
  onTestFinished(() => rm(project, { recursive: true }));
  await writeFile(join(project, 'charge.mjs'), change(block?.code ?? ''));
  const run = (line: string) =>
    start('sh', ['-c', `${line} && exec "${process.execPath}" charge.mjs`], project);
  return { project, run };
}

test('charges and delivers once with the lines of the README, in three runs', async () => {
  const [, shown = ''] = /^npx payment-sandbox (.+)$/m.exec(readme[0]?.text ?? '') ?? [];
  const [option = '', state = ''] = shown.split(' ');
  expect(option).toBe('--state');
  const { project, run } = await createShop();
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

const closedPort = await findFreePort();

test.each([
  ['a wrong API key', (line: string) => `${line}x`, undefined, 1, /AuthenticationError/],
  [
    'a network in capitals',
    (line: string) => line,
    (code: string) => code.replace("'mtn'", "'MTN'"),
    0,
    /^no payment was started: .*network must be one of mtn, telecel, airteltigo/,
  ],
  [
    'a host that cannot be reached',
    (line: string) => line.replace(/http:\S+/, `http://127.0.0.1:${closedPort}/api/v1`),
    undefined,
    0,
    /^no payment was started: .*no connection to the service could be made.*ECONNREFUSED/,
  ],
] as const)('prints what went wrong with %s', async (_, changeLine, change, code, printed) => {
  const sandbox = await startSandboxCommand();
  const { run } = await createShop(change);
  const shop = run(changeLine(sandbox.line));
  expect(await shop.ended).toEqual([code, null]);
  expect(shop.output.text).toMatch(printed);
  expect(await sandbox.hasPrompt()).toBe(false);
});
