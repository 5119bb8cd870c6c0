import { writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { createMerchantProject } from '../../helpers/installed-package.ts';
import { isExhaustive } from '../../helpers/sized.ts';
import { blocksOf, fileNameOf } from './blocks.ts';
import { pages } from './pages.ts';
import { start, startSandboxCommand } from './shop-process.ts';
import { fencedIn } from './tables.ts';

const page = pages.find(({ path }) => path === 'docs/getting-started.md') ?? { path: '', text: '' };
const files = blocksOf(page);
const commands = fencedIn(page.text, 'sh');

/** A folder with the package, its commands and the files of the page. */
async function createFolder(type: 'ts' | 'js'): Promise<string> {
  const folder = await createMerchantProject();
  for (const block of files) {
    const name = (fileNameOf(block) ?? '').replace(/ts$/, type);
    await writeFile(join(folder, name), block.code.replaceAll(/(?<='\.\/\w+\.)ts(?=')/g, type));
  }
  return folder;
}

test('shows a sandbox, two files, and the commands of a terminal', () => {
  expect(files.map(fileNameOf)).toEqual(['payments.ts', 'charge.ts']);
  expect(commands.map((code) => code.split(/ (?=-|http)|\n/)[0])).toEqual([
    'mkdir shop && cd shop',
    'npx payment-sandbox',
    'node charge.ts',
    'node charge.ts 18',
    'PAYMENTS_API_KEY=sk_test_sandbox npx payment-probe',
  ]);
});

test.runIf(isExhaustive).each(['ts', 'js'] as const)(
  'does what the page says, with files of %s',
  async (type) => {
    const [create = '', , charge = '', chargeOther = ''] = commands;
    const folder = await createFolder(type);
    const sandbox = await startSandboxCommand('--state', join(folder, 'sandbox.db'));
    const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
    /** Runs a block of the page in the second terminal. */
    const run = (code: string) => {
      const shown = code.replaceAll('http://127.0.0.1:4010', sandbox.url).replaceAll('.ts', `.${type}`);
      const npm = { npm_config_update_notifier: 'false', npm_config_loglevel: 'error' };
      return start('sh', ['-ec', `${sandbox.line}\n${shown}`], folder, { PATH, ...npm });
    };
    const runToEnd = async (code: string) => {
      const { ended, output } = run(code);
      return { code: (await ended)[0], text: output.text };
    };
    // The folder is there, and has the package.
    await runToEnd(create.replace('mkdir shop && cd shop\n', '').replace(/^npm install .*$/m, ''));

    const first = run(charge);
    await sandbox.approve(await sandbox.findPrompt());
    expect(await first.ended).toEqual([0, null]);
    expect(first.output.text).toBe('order 17 is processing\norder 17 is paid\ndeliver order 17\n');
    for (let count = 2; count <= 3; count++)
      expect(await runToEnd(charge)).toEqual({ code: 0, text: 'order 17 is paid\n' });

    await sandbox.loseResponse();
    const inReview = 'order 18 is in_review\n';
    const alert = 'ALERT: payment 18/1 is unresolved\n';
    expect(await runToEnd(chargeOther)).toEqual({ code: 0, text: inReview + alert });
    expect(await sandbox.hasPrompt()).toBe(true);
    expect(await runToEnd(chargeOther)).toEqual({ code: 0, text: inReview });
  },
);
