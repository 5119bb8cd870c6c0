import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FOLDER } from './compose-file.ts';
import { copyContext } from './context.ts';
import { buildImage } from './image.ts';
import { startPackageRegistry } from './package-registry.ts';
import { run } from './run.ts';

test('installs the released package if there is no tarball', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'payments-image-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const registry = await startPackageRegistry(folder);
  const image = await buildImage(copyContext(FOLDER, folder), join(folder, 'root'), {
    ...process.env,
    npm_config_registry: registry,
    // Of its own: npm might know of a registry without the package.
    npm_config_cache: join(folder, 'cache'),
  });
  expect(image.command).toEqual(['node', 'server.ts']);
  const sandbox = join(image.workdir, 'node_modules/.bin/payment-sandbox');
  expect(await run(sandbox, ['--help'])).toContain('--allow-host');
  const loadApp = "import('./app.ts').catch(({ message }) => console.log(message))";
  expect(
    await run('node', ['-e', loadApp], { cwd: image.workdir, env: { PATH: process.env.PATH } }),
  ).toContain('Pass apiKey');
});
