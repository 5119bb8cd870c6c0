import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The folder of the repository, with its last slash. */
export const root = fileURLToPath(new URL('../../..', import.meta.url));

export interface Page {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
}

// The API site is made by TypeDoc, which checks its own links.
const notOurs = (path: string) => path.includes('node_modules') || path.startsWith('docs/api');

/** Every page that people read. */
export const pages: Page[] = globSync(['*.md', 'docs/**/*.md', 'examples/**/README.md'], {
  cwd: root,
  exclude: notOurs,
})
  .sort()
  .map((path) => ({ path, text: readFileSync(root + path, 'utf8') }));
