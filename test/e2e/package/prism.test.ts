import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test, vi } from 'vitest';
import { findFreePort } from '../../helpers/free-port.ts';
import { startProcess } from '../../unit/operators/command/merchant-project.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const prism = fileURLToPath(new URL('node_modules/@stoplight/prism-cli/dist/index.js', import.meta.url));

/** Starts a service that is not ours, made of what docs/reference/openapi.yaml calls documented. */
async function startPrism(): Promise<string> {
  const port = `${await findFreePort()}`;
  const args = [prism, 'mock', '--port', port, 'docs/reference/openapi.yaml'];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(async () => {
    child.kill();
    if (child.exitCode === null) await once(child, 'exit');
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  await vi.waitUntil(() => printed.includes('Prism is listening'), { timeout: 60_000 });
  return `http://127.0.0.1:${port}`;
}

test('finds what a service that only follows the documentation does not keep', async () => {
  const env = { PAYMENTS_BASE_URL: await startPrism(), PAYMENTS_API_KEY: 'sk_test_prism' };
  const { code, out } = await startProcess(process.execPath, ['dist/payment-probe.js'], root, env).ended;
  const find = (verdict: string) =>
    [...out.matchAll(new RegExp(`^${verdict} +([\\w-]+)`, 'gm'))].map(([, id]) => id);
  // Prism has no memory: each payment is that of the example. It takes any API key, and rounds nothing.
  const broken = ['wrong-key', 'test-charge', 'unknown-reference', 'two-decimals', 'equal-requests'];
  expect(find('does not hold')).toEqual(broken);
  expect(find('holds').length).toBeGreaterThan(10);
  expect(code).toBe(3);
});
