import { cpSync } from 'node:fs';
import { basename, join } from 'node:path';
import { run } from './run.ts';

/** Copies an example into `folder`, without what lies in it that is not part of it. Returns the copy. */
export function copyContext(example: string, folder: string): string {
  const context = join(folder, 'context');
  cpSync(example, context, {
    recursive: true,
    filter: (path) => basename(path) !== 'node_modules' && !path.endsWith('.tgz'),
  });
  return context;
}

/** Puts the tarball of the built package into a context, as the README of the example says. */
export async function packInto(context: string): Promise<void> {
  await run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', context]);
}
