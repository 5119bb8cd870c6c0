import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HttpResponse, http, passthrough } from 'msw';
import { setupServer } from 'msw/node';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createMockPayments } from '../../../src/developers/mock/index.ts';
import { type Block, blocksOf } from '../docs/blocks.ts';
import { faultsOf, isOtherPackage, resolveExample } from '../docs/compile.ts';
import { databasePages, pages } from '../docs/pages.ts';
import { runBlock } from '../docs/run.ts';
import type { TestDatabase } from './database.ts';
import { type RunStory, stories } from './docs-stories.ts';
import { loadDatabase } from './load-database.ts';

const blocks = pages.filter(({ path }) => databasePages.includes(path)).flatMap(blocksOf);
// They assume no name: each is whole.
const faults = faultsOf(blocks, 'export {};', fileURLToPath(import.meta.url));

test('has a story for every block, and a block for every story', () => {
  expect(blocks.length).toBeGreaterThan(0);
  expect(Object.keys(stories).sort()).toEqual(blocks.map(({ heading }) => heading).sort());
});

describe.each(blocks.map((block) => [block.heading, block] as const))('%s', (heading, block) => {
  test('compiles with the types of the driver', () => {
    expect(faults.get(block)).toEqual([]);
  });

  const story = stories[heading];
  if (!story || 'notRun' in story) return;
  test('charges once on its database', async ({ skip }) => {
    const database = story.kind === undefined ? undefined : await loadDatabase(story.kind);
    if (database?.missing !== undefined) console.warn(`${heading} is not run: ${database.missing}`);
    skip(database?.missing !== undefined, database?.missing);
    await play(block, story, database);
  });
});

async function play(block: Block, story: RunStory, database: TestDatabase | undefined): Promise<void> {
  useTempFolder();
  const mock = createMockPayments();
  vi.stubEnv('PAYMENTS_BASE_URL', mock.baseUrl);
  vi.stubEnv('PAYMENTS_API_KEY', mock.apiKey);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const running = await database?.start();
  onTestFinished(() => running?.stop());
  if (running) {
    for (const [name, value] of Object.entries(story.env?.(running.place) ?? {})) vi.stubEnv(name, value);
  }
  const isLocal = (request: Request) => ['127.0.0.1', 'localhost'].includes(new URL(request.url).hostname);
  const server = setupServer(
    ...mock.handlers,
    http.all('*', ({ request }) => (isLocal(request) ? passthrough() : HttpResponse.error())),
  );
  server.listen();
  onTestFinished(() => server.close());
  const printed = await runBlock(pressTwice(block, story), {
    blocks,
    resolve: (specifier) =>
      isOtherPackage(specifier) ? import.meta.resolve(specifier) : resolveExample(specifier),
  });
  expect(printed.map(({ text }) => text)).toEqual(["'processing processing 1'"]);
  expect(mock.charges).toHaveLength(1);
  mock.expectNoDoubleCharge();
}

/** A shop that charges an order twice with the `payments.ts` of a page, and then ends. It stands right below that block. */
function pressTwice(block: Block, { first, end }: RunStory): Block {
  const code = `
${first === undefined ? '' : `import '${first}';`}
import * as shop from './payments.ts';
import { createOrderPayments } from 'payment-collection-client/orders';
const { payments, journal } = shop;
const orderPayments = createOrderPayments({ payments, journal, onPaid() {}, onAttention() {} });
const order = { amount: '25.50', currency: 'GHS', customer_email: 'ama@example.com', phone: '0244123456', network: 'mtn' };
const one = await orderPayments.charge('17', order);
const other = await orderPayments.charge('17', order);
console.log(one.state + ' ' + other.state + ' ' + (await journal.count()).records);
await payments.close();
${end === undefined ? '' : `await shop.${end}();`}`;
  return { ...block, heading: 'a shop', line: block.line + 1, code };
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
