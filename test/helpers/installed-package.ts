import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { inject, onTestFinished } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };

declare module 'vitest' {
  export interface ProvidedContext {
    /** The folder of what merchants have installed, which is deleted when the run ends. */
    readonly installations: string;
  }
}

/** The name of a package, and its folder if that is not `node_modules/<name>`. */
type Package = string | readonly [name: string, folder: string];

/**
 * Creates a merchant's project with the built package, its commands and dependencies, and these other packages. Projects
 * with the same packages share one `node_modules`, so a test must not change it.
 */
export async function createMerchantProject(...others: Package[]): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'merchant-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  await symlink(await install(others), join(directory, 'node_modules'));
  return directory;
}

/** Installs these packages once in a run. Node keeps what it compiles by the path, so each later process finds it. */
async function install(others: readonly Package[]): Promise<string> {
  const shared = inject('installations');
  const id = createHash('sha256').update(JSON.stringify(others)).digest('hex').slice(0, 16);
  const folder = join(shared, id);
  if (!existsSync(folder)) {
    const draft = await mkdtemp(join(shared, 'draft-'));
    await fillModules(join(draft, 'node_modules'), others);
    // Another worker might have been faster.
    await rename(draft, folder).catch(() => rm(draft, { recursive: true }));
  }
  return join(folder, 'node_modules');
}

async function fillModules(modules: string, others: readonly Package[]): Promise<void> {
  const installed = join(modules, 'payment-collection-client');
  await mkdir(installed, { recursive: true });
  await cp('dist', join(installed, 'dist'), { recursive: true });
  await cp('package.json', join(installed, 'package.json'));
  for (const other of ['ky', 'zod', ...others]) {
    const [name, folder] = typeof other === 'string' ? [other, `node_modules/${other}`] : other;
    const link = join(modules, name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(resolve(folder), link);
  }
  await mkdir(join(modules, '.bin'));
  for (const [name, file] of Object.entries(packageJson.bin)) {
    await chmod(join(installed, file), 0o755);
    await symlink(join('../payment-collection-client', file), join(modules, '.bin', name));
  }
}

/** Runs code in a project, and returns what it printed. */
export async function runCode(
  project: string,
  system: 'module' | 'commonjs',
  code: string,
): Promise<{ stdout: string; stderr: string }> {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [`--input-type=${system}`, '-e', code],
    { cwd: project },
  );
  return { stdout: stdout.trim(), stderr: stderr.trim() };
}
