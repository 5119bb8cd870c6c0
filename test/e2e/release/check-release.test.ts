import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const READY = {
  'package.json': JSON.stringify({
    version: '1.2.3',
    repository: { type: 'git', url: 'git+https://github.com/payments/client.git' },
  }),
  'src/support/version.ts': "export const version = '1.2.3';\n",
  'CHANGELOG.md': '# Changelog\n\n## [1.2.3] - 2026-11-21\n',
};

/** Runs the release workflow's check on a tree with these files. */
function check(files: Partial<typeof READY>, tag = 'v1.2.3') {
  const tree = mkdtempSync(join(tmpdir(), 'release-'));
  onTestFinished(() => rmSync(tree, { recursive: true }));
  for (const [name, text] of Object.entries({ ...READY, ...files })) {
    mkdirSync(dirname(join(tree, name)), { recursive: true });
    writeFileSync(join(tree, name), text);
  }
  const script = join(tree, '.github/check-release.mjs');
  cpSync('.github/check-release.js', script);
  const { status, stderr } = spawnSync(process.execPath, [script, tag, 'payments/client'], {
    encoding: 'utf8',
  });
  return { status, stderr };
}

test('accepts a tag that matches package.json, source and changelog', () => {
  expect(check({})).toEqual({ status: 0, stderr: '' });
});

test.each([
  ['another tag', {}, 'v1.2.4', 'The tag is v1.2.4, package.json says 1.2.3.'],
  [
    'another version in the source',
    { 'src/support/version.ts': "export const version = '1.2.2';\n" },
    'v1.2.3',
    'src/support/version.ts says 1.2.2',
  ],
  [
    'an unreleased changelog',
    { 'CHANGELOG.md': '## [1.2.3] - unreleased\n' },
    'v1.2.3',
    'no heading "## [1.2.3] - <date>"',
  ],
  [
    'a package without a repository',
    { 'package.json': JSON.stringify({ version: '1.2.3' }) },
    'v1.2.3',
    'has to name payments/client as its repository',
  ],
])('refuses a tree with %s', (_, files, tag, fault) => {
  const { status, stderr } = check(files, tag);
  expect(status).toBe(1);
  expect(stderr).toContain(fault);
});
