import { execFile } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { root } from './pages.ts';

const LINK = /\b(?:href|src)="(?!\w[\w+.-]*:)(?<file>[^"#?]*)(?:\?[^"#]*)?(?:#(?<anchor>[^"]*))?"/g;

test('makes the API site without a warning, and no link of it is broken', async () => {
  const site = mkdtempSync(join(tmpdir(), 'api-site-'));
  onTestFinished(() => rmSync(site, { recursive: true }));
  const run = promisify(execFile)('npm', ['run', '--silent', 'docs', '--', '--out', site], { cwd: root });
  const { stdout, stderr } = await run;
  expect(stdout + stderr).not.toContain('[warning]');

  const texts = new Map(
    globSync('**/*.html', { cwd: site }).map((path) => [path, readFileSync(join(site, path), 'utf8')]),
  );
  const links = [...texts].flatMap(([path, text]) =>
    [...text.matchAll(LINK)].map(({ groups }) => ({ path, file: '', anchor: '', ...groups })),
  );
  expect(links.length).toBeGreaterThan(1_000);
  const broken = links.filter(({ path, file, anchor }) => {
    const to = file === '' ? path : join(dirname(path), decodeURIComponent(file));
    const isThere = existsSync(join(site, to));
    return !isThere || (anchor && texts.get(to)?.includes(`id="${decodeURIComponent(anchor)}"`) === false);
  });
  expect(broken).toEqual([]);
});
