import { posix } from 'node:path';
import { expect, test } from 'vitest';
import { pages } from './pages.ts';
import { readPage } from './tables.ts';

test('links each page of the documentation from the map', () => {
  const targets = [...readPage('docs/README.md').matchAll(/\]\((?<target>[^)#]+)/g)].map(({ groups }) =>
    posix.join('docs', groups?.target ?? ''),
  );
  const docs = pages
    .map(({ path }) => path)
    .filter((path) => path.startsWith('docs/') && path !== 'docs/README.md');
  expect(docs.length).toBeGreaterThan(25);
  expect(docs.filter((path) => !targets.includes(path))).toEqual([]);
});
