import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PlaywrightTestConfig } from '@playwright/test';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { findFreePort } from '../../helpers/free-port.ts';
import { createMerchantProject } from '../../helpers/installed-package.ts';
import { blocksOf, isForPlaywright } from '../docs/blocks.ts';
import { pages, root } from '../docs/pages.ts';
import { isChromiumMissing, launchOptions } from './chromium.ts';

const reportSchema = z.object({
  errors: z.array(z.object({ message: z.string() })),
  suites: z.array(
    z.object({
      specs: z.array(z.object({ title: z.string(), ok: z.boolean(), tests: z.array(z.unknown()) })),
    }),
  ),
});

const blocks = pages.flatMap(blocksOf).filter(isForPlaywright);
const findBlock = (isWanted: (code: string) => boolean) =>
  blocks.find(({ code }) => isWanted(code))?.code ?? '';
const spec = findBlock((code) => code.includes('async ({ page, request })'));
const config = findBlock((code) => code.includes('defineConfig'));

/** Beside the config of the page: the browser of this machine, and a report. */
const ownConfig = {
  use: { launchOptions },
  reporter: [['json', { outputFile: 'report.json' }]],
  timeout: 60_000,
} satisfies PlaywrightTestConfig;

const OWN_CONFIG = `import { defineConfig } from '@playwright/test';
import config from './playwright.config.ts';

export default defineConfig(config, ${JSON.stringify(ownConfig)});
`;

describe.skipIf(isChromiumMissing)("with Playwright's own runner", () => {
  test('passes the test of a shop in the docs, with its config', async () => {
    const project = await createMerchantProject('@playwright', 'playwright', 'playwright-core');
    const [shop, sandbox] = [await findFreePort(), await findFreePort()];
    const write = (file: string, text: string) =>
      writeFile(join(project, file), text.replaceAll(':3000', `:${shop}`).replaceAll('4010', `${sandbox}`));
    await write('package.json', '{ "type": "module", "scripts": { "start": "node shop.ts" } }');
    await write('playwright.config.ts', config);
    await write('own.config.ts', OWN_CONFIG);
    await write('shop.spec.ts', spec);
    await copyFile(`${root}test/e2e/browser/programs/shop.ts`, join(project, 'shop.ts'));

    const cli = join(project, 'node_modules/@playwright/test/cli.js');
    const child = spawn(process.execPath, [cli, 'test', '--config', 'own.config.ts'], {
      cwd: project,
      env: { ...process.env, PORT: `${shop}`, NODE_OPTIONS: '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    await once(child, 'close');
    const text = await readFile(join(project, 'report.json'), 'utf8').catch((cause: unknown) => {
      throw new Error(`Playwright wrote no report: ${output}`, { cause });
    });
    const { errors, suites } = reportSchema.parse(JSON.parse(text));
    expect(errors).toEqual([]);
    const results = suites.flatMap(({ specs }) => specs).map(({ title, ok }) => ({ title, ok }));
    expect(results, text).toEqual([{ title: 'a customer pays while verify fails', ok: true }]);
  });
});
