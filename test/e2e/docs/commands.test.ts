import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { pages, root } from './pages.ts';

test.each(['npm ci && npm run demo', 'npm cit'])('shows %s in the README', (command) => {
  const readme = pages.find(({ path }) => path === 'README.md')?.text;
  expect(readme).toContain(`\`\`\`sh\n${command}\n\`\`\`\n`);
});

// The commands of an example are not those of the root.
const own = pages.filter(({ path }) => !path.startsWith('examples/'));

test.each(own.map((page) => [page.path, page.text] as const))(
  'names only existing npm scripts: %s',
  (_, text) => {
    const named = [...text.matchAll(/\bnpm run (?<script>[\w:-]+)/g)].map(
      ({ groups }) => groups?.script ?? '',
    );
    expect(named.filter((script) => !(script in packageJson.scripts))).toEqual([]);
  },
);

test.each(own.map((page) => [page.path, page.text] as const))('names only existing tests: %s', (_, text) => {
  const named = [...text.matchAll(/\bnpm (?:test|run test:exhaustive) -- (?<paths>[^`\n]+)/g)];
  const paths = named.flatMap(({ groups }) => (groups?.paths ?? '').split(' '));
  expect(paths.filter((path) => !existsSync(root + path))).toEqual([]);
});

test.each(own.map((page) => [page.path, page.text] as const))(
  'names only existing benchmarks: %s',
  (_, text) => {
    const benches = [
      ...readFileSync(`${root}bench/run.ts`, 'utf8').matchAll(/^ {2}'?(?<name>[\w-]+)'?: \{$/gm),
    ];
    const there = benches.map(({ groups }) => groups?.name);
    const named = [...text.matchAll(/\bnpm run bench -- (?<name>[\w-]+)/g)].map(({ groups }) => groups?.name);
    expect(there.length).toBeGreaterThan(0);
    expect(named.filter((name) => !there.includes(name))).toEqual([]);
  },
);
