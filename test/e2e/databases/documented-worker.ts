import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Sandbox, startSandbox } from '../../../src/developers/sandbox/index.ts';
import { blocksOf } from '../docs/blocks.ts';
import { databasePages, pages } from '../docs/pages.ts';
import { type MiniflareSettings, type RunningWorker, startWorker } from './miniflare.ts';

/**
 * Starts the Worker that docs/guides/cloudflare.md shows below a heading, until the test ends. What it lacks follows as `rest`. Its
 * charges are made at a sandbox.
 */
export async function startDocumentedWorker(
  heading: string,
  objects: MiniflareSettings['objects'] = {},
  rest = '',
): Promise<{ worker: RunningWorker; sandbox: Sandbox }> {
  const blocks = pages.filter(({ path }) => databasePages.includes(path)).flatMap(blocksOf);
  const block = blocks.find((found) => found.heading === heading);
  if (!block) throw new Error(`The page shows nothing below ${heading}.`);
  const folder = mkdtempSync(join(tmpdir(), 'documented-worker-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'worker.ts');
  writeFileSync(file, `${block.code}\n${rest}`);
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  const bindings = { PAYMENTS_BASE_URL: sandbox.baseUrl, PAYMENTS_API_KEY: sandbox.liveKey };
  const worker = await startWorker(file, { bindings, objects });
  onTestFinished(() => worker.stop());
  return { worker, sandbox };
}

/** Posts an order of the shop to the Worker, and returns the status and what it responded. */
export async function postOrder(url: string): Promise<{ status: number; body: unknown }> {
  const order = {
    order: 'order-17',
    amount: '25.50',
    customer_email: 'ama.serwaa@example.com',
    phone: '024 412 3456',
  };
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(order) });
  return { status: response.status, body: await response.json() };
}
