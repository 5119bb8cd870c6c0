import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';

/** Creates a merchant's project with the built package, its dependencies, and these other packages. */
export async function createMerchantProject(...others: string[]): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'merchant-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const installed = join(directory, 'node_modules/payment-collection-client');
  await mkdir(installed, { recursive: true });
  await cp('dist', join(installed, 'dist'), { recursive: true });
  await cp('package.json', join(installed, 'package.json'));
  for (const name of ['ky', 'zod', ...others]) {
    const link = join(directory, 'node_modules', name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(resolve('node_modules', name), link);
  }
  return directory;
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
