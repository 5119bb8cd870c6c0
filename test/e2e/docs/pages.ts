import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The folder of the repository, with a slash at the end. */
export const root = fileURLToPath(new URL('../../..', import.meta.url));

export interface Page {
  /** Relative to the root of the repository. */
  readonly path: string;
  readonly text: string;
}

// TypeDoc makes the API site and checks its links.
const notOurs = (path: string) => path.includes('node_modules') || path.startsWith('docs/api');

/** The pages whose blocks need drivers and databases: test/e2e/databases compiles and runs them. */
export const databasePages: readonly string[] = [
  'docs/guides/postgres.md',
  'docs/guides/sqlite.md',
  'docs/guides/cloudflare.md',
  'docs/guides/mysql.md',
  'docs/guides/redis.md',
  'examples/journals/README.md',
];

/** The pages whose shops need Express, Fastify and Prisma: test/e2e/databases compiles and runs them. */
export const startPage = 'docs/getting-started.md';
export const frameworksPage = 'docs/guides/frameworks.md';

/** Every page that people read. */
export const pages: Page[] = globSync(['*.md', 'docs/**/*.md', 'examples/**/README.md', 'bench/README.md'], {
  cwd: root,
  exclude: notOurs,
})
  .sort()
  .map((path) => ({ path, text: readFileSync(root + path, 'utf8') }));
