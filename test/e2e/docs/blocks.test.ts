import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HttpResponse, http } from 'msw';
import { setupServer } from 'msw/node';
import { createMockPayments } from 'payment-collection-client/testing';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { startPostgres } from '../../helpers/databases.ts';
import { chooseSize } from '../../helpers/sized.ts';
import { type Block, blocksOf, isForPlaywright, isTestFile, isTestHelper, withFiles } from './blocks.ts';
import { faultsOf } from './compile.ts';
import { databasePages, frameworksPage, pages, startPage } from './pages.ts';
import { findFalseComments, type Print, runBlock } from './run.ts';
import { runTestFile } from './run-test-file.ts';
import { type Scene, setScene } from './scene.ts';
import { nothingHappens, type Story, stories } from './stories.ts';

const elsewhere = [...databasePages, startPage, frameworksPage];
const blocks = pages.filter(({ path }) => !elsewhere.includes(path)).flatMap(blocksOf);
// The short run covers only the README.
const sampled = chooseSize(
  blocks.filter(({ page }) => page === 'README.md'),
  blocks,
);
const faults = faultsOf(sampled);
const titleOf = ({ page, heading }: Block) => `${page}, ${heading}`;
const storiesOf = (block: Block) => stories[titleOf(block)] ?? [nothingHappens];
/** The code of a block and of the files that it imports. */
const wholeCodeOf = (block: Block) =>
  withFiles(block, blocks)
    .map(({ code }) => code)
    .join('\n');

/** The lines that have printed, such as `README.md:57`. */
const reached = new Set<string>();

const WAITS =
  /\b(?:waitForFinalStatus|watch|reconcile|followUps\.run|orderPayments\.(?:run|wait)|setTimeout)\(/;
const BRINGS_ITS_OWN_SERVICE = /\b(?:setupServer|startSandbox)\(/;

test('runs every block', () => {
  const notRun = blocks.filter(({ notRun }) => notRun !== null);
  expect(notRun.map((block) => `${titleOf(block)}: ${block.notRun}`)).toEqual([]);
});

test('has a block for every story', () => {
  const titles = blocks.map(titleOf);
  expect(titles.length).toBeGreaterThan(0);
  expect(titles).toEqual(expect.arrayContaining(Object.keys(stories)));
});

describe.each(sampled.map((block) => [titleOf(block), block] as const))('%s', (_, block) => {
  test('compiles with the options of a strict consumer', () => {
    expect(faults.get(block)).toEqual([]);
  });

  if (block.notRun !== null || isForPlaywright(block) || isTestHelper(block)) return;

  if (isTestFile(block)) {
    test.each(['msw', 'msw-2'] as const)('passes as a test file, with %s', async (msw) => {
      const ends = await runTestFile(withFiles(block, blocks), msw);
      expect(ends.length).toBeGreaterThan(0);
      expect(ends.filter((end) => !end.startsWith('passed: '))).toEqual([]);
    });
    return;
  }

  test.each(storiesOf(block).map((story) => [story.where, story] as const))(
    'runs if %s',
    async (__, story) => {
      const { scene, printed } = await play(block, story);
      for (const { line } of printed) reached.add(`${block.page}:${line}`);
      expect(findFalseComments(block, printed)).toEqual([]);
      if (story.printed) expect(printed.map(({ text }) => text)).toEqual(story.printed);
      if (story.charges !== undefined) expect(scene.mock.charges).toHaveLength(story.charges);
      scene.mock.expectNoDoubleCharge();
    },
  );
});

/** Lists the lines of a block that print. */
function listPrinting({ line, code }: Block): number[] {
  return code.split('\n').flatMap((text, index) => (/console\.\w+\(/.test(text) ? [line + index] : []));
}

const run = sampled.filter((block) => block.notRun === null && !isForPlaywright(block) && !isTestFile(block));

test.each([...new Set(run.map(({ page }) => page))].map((page) => [page] as const))(
  'reaches every line that prints, in one of the stories: %s',
  (page) => {
    const lines = run.filter((block) => block.page === page).flatMap(listPrinting);
    const missed = lines.map((line) => `${page}:${line}`).filter((place) => !reached.has(place));
    expect(missed).toEqual([]);
  },
);

async function play(block: Block, story: Story): Promise<{ scene: Scene; printed: Print[] }> {
  useTempFolder();
  const mock = createMockPayments();
  vi.stubEnv('PAYMENTS_BASE_URL', mock.baseUrl);
  vi.stubEnv('PAYMENTS_API_KEY', mock.apiKey);
  const code = wholeCodeOf(block);
  if (WAITS.test(code)) vi.useFakeTimers();
  const server = setupServer(
    ...mock.handlers,
    http.all('*', () => HttpResponse.error()),
  );
  onTestFinished(() => {
    vi.useRealTimers();
    vi.unstubAllEnvs();
  });
  server.listen();
  const scene = await setScene(mock);
  await story.arrange?.(scene);
  if (BRINGS_ITS_OWN_SERVICE.test(code)) server.close();
  else onTestFinished(() => server.close());
  if (/\bPool\b/.test(code)) await startDatabase();
  const printed: Print[] = [];
  for (let run = 0; run < (story.runs ?? 1); run++) {
    const printing = runBlock(block, { blocks, onPrint: () => scene.onPrint() });
    printed.push(...(await runToEnd(printing)));
  }
  await story.afterwards?.(scene);
  return { scene, printed };
}

/** A block can create files, so it runs in an empty folder. */
function useTempFolder(): void {
  const before = process.cwd();
  const folder = mkdtempSync(join(tmpdir(), 'shop-'));
  process.chdir(folder);
  onTestFinished(() => {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  });
}

async function startDatabase(): Promise<void> {
  const postgres = await startPostgres();
  vi.stubEnv('DATABASE_URL', postgres.url);
  onTestFinished(() => postgres.stop());
}

/** The real clock's. */
const { setTimeout: setRealTimeout } = globalThis;
const sleep = (ms: number) => new Promise((resolve) => setRealTimeout(resolve, ms));

/** Advances a fake clock until the block ends. */
async function runToEnd<T>(run: Promise<T>): Promise<T> {
  if (!vi.isFakeTimers()) return run;
  let isDone = false;
  const end = () => {
    isDone = true;
  };
  run.then(end, end);
  while (!isDone) {
    await vi.advanceTimersByTimeAsync(250);
    // What other threads do, such as a digest, takes real time. A deadline must not pass meanwhile.
    await sleep(1);
  }
  return run;
}
