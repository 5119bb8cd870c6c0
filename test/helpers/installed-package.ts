import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };

/** Creates a merchant's project with the built package, its commands and dependencies, and these other packages. */
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
  await mkdir(join(directory, 'node_modules/.bin'));
  for (const [name, file] of Object.entries(packageJson.bin)) {
    await chmod(join(installed, file), 0o755);
    await symlink(join(installed, file), join(directory, 'node_modules/.bin', name));
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
