import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { run } from './run.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** A project that has the package, and nothing else. */
    bare: string;
    /** The same, with MSW, undici, libphonenumber-js and the types of Node. */
    shop: string;
    /** The same, with MSW 2. */
    olderShop: string;
  }
}

const root = fileURLToPath(new URL('../../../', import.meta.url));
const tools = fileURLToPath(new URL('node_modules/', import.meta.url));
const beside = ['undici', 'libphonenumber-js', '@types/node', 'vitest', 'reflect-metadata'];

/** Packs the package once and installs it, as npm does for a merchant. */
export default async function install(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'as-shipped-'));
  const remove = () => rm(folder, { recursive: true });
  try {
    await fill(folder, project);
  } catch (error) {
    await remove();
    throw error;
  }
  return remove;
}

async function fill(folder: string, { provide }: TestProject): Promise<void> {
  const packed = await run(
    'npm',
    ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder],
    root,
  );
  const tarball = join(folder, packed.trim());
  const bare = join(folder, 'bare');
  await mkdir(bare);
  await writeFile(join(bare, 'package.json'), '{ "name": "bare", "private": true }');
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', tarball], bare);
  const shop = join(folder, 'shop');
  const olderShop = join(folder, 'older-shop');
  await furnish(bare, shop, { msw: 'msw' });
  await furnish(bare, olderShop, { msw: 'msw-2' });
  provide('bare', bare);
  provide('shop', shop);
  provide('olderShop', olderShop);
}

async function furnish(bare: string, shop: string, { msw }: { msw: string }): Promise<void> {
  await cp(bare, shop, { recursive: true });
  for (const [name, tool] of [['msw', msw], ...beside.map((name) => [name, name] as const)] as const) {
    const path = join(shop, 'node_modules', name);
    await mkdir(dirname(path), { recursive: true });
    await symlink(join(tools, tool), path);
  }
}
