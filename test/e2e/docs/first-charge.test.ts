import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { blocksOf } from './blocks.ts';
import { pages, root } from './pages.ts';
import { createProject } from './run-test-file.ts';

const readme = pages.filter(({ path }) => path === 'README.md');
const block = readme.flatMap(blocksOf).find(({ heading }) => heading === 'Quick start');

/** Starts a process until the test ends, and collects what it prints. */
function start(command: string, args: string[], cwd = root) {
  // Without these variables, as in a new terminal.
  const { PAYMENTS_BASE_URL: _, PAYMENTS_API_KEY: __, ...env } = process.env;
  const child: ChildProcess = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'close');
  const output = { text: '' };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output.text += text;
    });
  }
  return { output, ended };
}

/** Waits until a text contains a pattern, and returns its first group. */
async function find(readText: () => string | Promise<string>, pattern: RegExp): Promise<string> {
  const found = await vi.waitUntil(async () => pattern.exec(await readText()), { timeout: 30_000 });
  return found[1] ?? '';
}

test('the lines of the README charge against the sandbox as they stand', async () => {
  expect(readme[0]?.text).toContain('```sh\nnpx payment-sandbox\n```');
  const sandbox = start(process.execPath, [packageJson.bin['payment-sandbox'], '--port', '0']);
  const readOutput = () => sandbox.output.text;
  const line = await find(readOutput, /^ *(export PAYMENTS_BASE_URL=\S+ PAYMENTS_API_KEY=\S+)$/m);
  const phone = await find(readOutput, /phone +(\S+)/);

  const project = await createProject('msw');
  onTestFinished(() => rm(project, { recursive: true }));
  await writeFile(join(project, 'charge.mjs'), block?.code ?? '');
  const shop = start('sh', ['-c', `${line} && exec "${process.execPath}" charge.mjs`], project);

  const readPhone = async () => (await fetch(phone)).text();
  const reference = await find(readPhone, /name="reference" value="(TXN-\w+)"/);
  await fetch(phone, {
    method: 'POST',
    body: new URLSearchParams({ reference, pin: '1234', decision: 'approve' }),
    headers: { origin: new URL(phone).origin },
  });
  expect(await shop.ended).toEqual([0, null]);
  expect(shop.output.text).toMatch(/^paid: deliver order 17\n$/);
});
