import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import * as z from 'zod';
import { createMerchantProject } from '../../helpers/installed-package.ts';
import { type Block, fileNameOf, isNodeTest } from './blocks.ts';
import { root } from './pages.ts';

const reportSchema = z.object({
  testResults: z.array(
    z.object({
      message: z.string(),
      assertionResults: z.array(
        z.object({ title: z.string(), status: z.string(), failureMessages: z.array(z.string()) }),
      ),
    }),
  ),
});

/** Matches a line of TAP with the result of a test. */
const TAP_LINE = /^(?<end>ok|not ok) \d+ - (?<title>.+)$/gm;

/** Writes a block as a file with the line numbers of its page. Returns its path. */
async function writeBlock(project: string, { line, code }: Block, name: string): Promise<string> {
  const path = join(project, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, '\n'.repeat(line - 1) + code);
  return path;
}

async function runNodeTest(project: string, file: string): Promise<string[]> {
  await writeFile(join(project, 'package.json'), '{ "type": "module" }');
  // Without this variable, Node's runner does not report to a parent runner.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const args = ['--test', '--test-reporter', 'tap', file];
  const run = promisify(execFile)(process.execPath, args, { cwd: project, env });
  const { stdout } = await run.catch((fault: { stdout: string }) => fault);
  return [...stdout.matchAll(TAP_LINE)].map(({ groups }) =>
    groups?.end === 'ok' ? `passed: ${groups.title}` : `failed: ${groups?.title}\n${stdout}`,
  );
}

/**
 * Runs a block that is a test file, with its own runner in a new project. The files that it imports follow it. Returns the
 * result of each test.
 */
export async function runTestFile(
  [block, ...files]: readonly Block[],
  msw: 'msw' | 'msw-2',
): Promise<string[]> {
  if (!block) throw new TypeError('There is no block to run');
  const { page } = block;
  const project = await createMerchantProject('vitest', ['msw', `node_modules/${msw}`]);
  for (const file of files) await writeBlock(project, file, fileNameOf(file) ?? '');
  const path = await writeBlock(project, block, fileNameOf(block) ?? `${page.replaceAll('/', '-')}.test.ts`);
  if (isNodeTest(block)) return await runNodeTest(project, path);
  const report = join(project, 'report.json');
  const vitest = `${root}node_modules/vitest/vitest.mjs`;
  const args = [vitest, 'run', '--root', project, '--reporter', 'json', '--outputFile', report];
  // Vitest also exits with an error if a test fails. The report names it.
  const fault = await promisify(execFile)(process.execPath, args, { cwd: project }).catch(String);
  const text = await readFile(report, 'utf8').catch((cause: unknown) => {
    throw new Error(`Vitest wrote no report: ${JSON.stringify(fault)}`, { cause });
  });
  const { testResults } = reportSchema.parse(JSON.parse(text));
  return testResults.flatMap(({ message, assertionResults }) => [
    ...(message === '' ? [] : [`${page}: ${message}`]),
    ...assertionResults.map(({ title, status, failureMessages }) =>
      [`${status}: ${title}`, ...failureMessages.map((failure) => failure.replaceAll(project, ''))].join(
        '\n',
      ),
    ),
  ]);
}
