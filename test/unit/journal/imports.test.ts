import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** Reads a source without its docstrings, whose examples import too. */
const readSource = (file: string) => readFileSync(file, 'utf8').replace(/^ \*.*$/gm, '');

test('journals import no database, nor a type of one', () => {
  const texts = globSync('src/{journal,stores}/**/*.ts').map(readSource);
  const imported = texts.flatMap((text) =>
    [...text.matchAll(/from '([^']+)'|import\(/g)].map(([, path]) => path),
  );
  expect(imported.length).toBeGreaterThan(20);
  expect(imported.filter((path) => path !== 'zod/mini' && !path?.startsWith('.'))).toEqual([]);
});

test('journalConformance imports neither the client nor a test runner', () => {
  const files = globSync('src/developers/conformance/*.ts');
  const texts = files.map(readSource);
  const imported = texts.flatMap((text) =>
    [...text.matchAll(/from '([^']+)'/g)].map(([, path = '']) => path),
  );
  expect(files.length).toBeGreaterThan(3);
  const allowed =
    /^zod\/mini$|^\.\/[a-z-]+\.ts$|^\.\.\/\.\.\/(?:journal\/|support\/|errors|parse-options|api\/)/;
  expect(imported.filter((path) => !allowed.test(path))).toEqual([]);
});
