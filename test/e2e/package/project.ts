import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inject, onTestFinished } from 'vitest';

/** A tool of test/e2e/package/package.json: a runtime or a compiler. */
export const tool = (path: string) => fileURLToPath(new URL(`node_modules/${path}`, import.meta.url));

/** Reads a file of `programs/` as text for either module system. */
export async function program(name: string): Promise<string> {
  const text = await readFile(new URL(`programs/${name}`, import.meta.url), 'utf8');
  return text.replace(/^export (?=async function)/gm, '');
}

/** Creates a project inside one that has the package. It is deleted when the test ends. */
export async function project(
  files: Record<string, string>,
  inside: 'bare' | 'shop' | 'olderShop' = 'shop',
): Promise<string> {
  const folder = await mkdtemp(join(inject(inside), 'project-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

/** Starts a sandbox of the installed package. Its next two payments are pending once and then paid. */
export async function payingSandbox() {
  const path = join(inject('bare'), 'node_modules/payment-collection-client/dist/sandbox.js');
  const { startSandbox }: typeof import('../../../src/developers/sandbox/index.ts') = await import(
    pathToFileURL(path).href
  );
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  sandbox.script('next', ['pending', 'success']);
  sandbox.script('next', ['pending', 'success']);
  return sandbox;
}
