import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { pages, root } from './pages.ts';

test.each(['npm ci && npm run demo', 'npm cit'])('the README shows %s', (command) => {
  const readme = pages.find(({ path }) => path === 'README.md')?.text;
  expect(readme).toContain(`\`\`\`sh\n${command}\n\`\`\`\n`);
});

// Commands of a package that an example has of its own are not the root's.
const own = pages.filter(({ path }) => !path.startsWith('examples/'));

test.each(own.map((page) => [page.path, page.text] as const))(
  'every npm script that %s names is there',
  (_, text) => {
    const named = [...text.matchAll(/\bnpm run (?<script>[\w:-]+)/g)].map(
      ({ groups }) => groups?.script ?? '',
    );
    expect(named.filter((script) => !(script in packageJson.scripts))).toEqual([]);
  },
);

test.each(own.map((page) => [page.path, page.text] as const))(
  'every test that %s names is there',
  (_, text) => {
    const named = [...text.matchAll(/\bnpm test -- (?<paths>[^`\n]+)/g)];
    const paths = named.flatMap(({ groups }) => (groups?.paths ?? '').split(' '));
    expect(paths.filter((path) => !existsSync(root + path))).toEqual([]);
  },
);

test.each(own.map((page) => [page.path, page.text] as const))(
  'every bench that %s names is there',
  (_, text) => {
    const benches = [...readFileSync(`${root}bench/run.ts`, 'utf8').matchAll(/^ {2}(?<name>\w+): \{$/gm)];
    const there = benches.map(({ groups }) => groups?.name);
    const named = [...text.matchAll(/\bnpm run bench -- (?<name>\w+)/g)].map(({ groups }) => groups?.name);
    expect(there.length).toBeGreaterThan(0);
    expect(named.filter((name) => !there.includes(name))).toEqual([]);
  },
);
