import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';

const workflows = globSync('.github/workflows/*.yml').map((path) => ({
  path,
  text: readFileSync(path, 'utf8'),
}));

test('pins every action by its commit, and names the version', () => {
  const uses = workflows.flatMap(({ text }) => text.match(/uses:.*$/gm) ?? []);
  expect(uses.length).toBeGreaterThan(3);
  expect(uses.filter((line) => !/^uses: [\w-]+\/[\w-]+@[\da-f]{40} # v[\d.]+$/.test(line))).toEqual([]);
});

test('runs the test command of the README and the check on pull requests', () => {
  const schema = z.object({
    on: z.object({ pull_request: z.unknown() }),
    jobs: z.record(
      z.string(),
      z.object({
        'runs-on': z.literal('ubuntu-latest'),
        steps: z.array(z.object({ run: z.string().optional() })),
      }),
    ),
  });
  const { jobs } = schema.parse(parse(readFileSync('.github/workflows/pull-request.yml', 'utf8')));
  const commands = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []));
  const blocks = readFileSync('README.md', 'utf8').match(/(?<=```sh\n).*(?=\n```)/g) ?? [];
  expect(commands).toContain('npm run check');
  expect(commands).toContain(blocks.at(-1));
});

test('packs a release without root, and without what the tests install', () => {
  const schema = z.object({
    jobs: z.object({
      pack: z.object({ steps: z.array(z.object({ run: z.string().optional() })) }),
      publish: z.object({
        needs: z.array(z.string()),
        steps: z.array(z.object({ run: z.string().optional() })),
      }),
    }),
  });
  const { jobs } = schema.parse(parse(readFileSync('.github/workflows/release.yml', 'utf8')));
  const { pack, publish } = jobs;
  const runs = (steps: { run?: string | undefined }[]) => steps.flatMap(({ run }) => run ?? []);
  expect(runs(pack.steps)).toEqual([
    expect.stringContaining('check-release.js'),
    'npm ci',
    'npm audit signatures',
    'npm pack',
  ]);
  expect(publish.needs).toEqual(['test', 'pack']);
  expect(runs(publish.steps)).toEqual([expect.stringMatching(/^npm publish .*\.tgz --ignore-scripts /)]);
});

test('asks for the requestId in the form for issues, and forbids keys', () => {
  const form = readFileSync('.github/ISSUE_TEMPLATE/bug.yml', 'utf8');
  expect(z.object({ body: z.array(z.object({ type: z.string() })) }).parse(parse(form)).body).not.toEqual([]);
  expect(form).toMatch(/id: requestId[\s\S]*?required: true/);
  expect(form).toContain('Do not paste an API key');
});
