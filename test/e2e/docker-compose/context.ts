import { spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';

/** Copies an example into `folder`, with the tarball of the built package, as its README says. Returns the copy. */
export function packContext(example: string, folder: string): string {
  const context = join(folder, 'context');
  cpSync(example, context, {
    recursive: true,
    filter: (path) => basename(path) !== 'node_modules' && !path.endsWith('.tgz'),
  });
  const args = ['pack', '--silent', '--pack-destination', resolve(context)];
  const { status, stderr } = spawnSync('npm', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`npm pack exited with ${status}: ${stderr}`);
  return context;
}
