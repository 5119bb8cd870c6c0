import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, inject, test } from 'vitest';
import { tool } from './project.ts';
import { run } from './run.ts';

const here = fileURLToPath(new URL('.', import.meta.url));

// The limits here and in .size-limit.json are a tenth above the measured sizes, to detect a jump.
test('adds no more to a bundle than its limits, minified and compressed', async () => {
  const printed = await run(process.execPath, [tool('size-limit/bin.js'), '--json'], here);
  const sizes: { name: string; passed: boolean; size: number }[] = JSON.parse(printed);
  console.log(sizes.map(({ name, size }) => `${name}: ${size} bytes`).join('\n'));
  expect(sizes).toHaveLength(6);
  for (const size of sizes) expect(size).toMatchObject({ passed: true });
});

test('unpacks to less than 1,480 kB', async () => {
  const installed = join(inject('bare'), 'node_modules/payment-collection-client');
  const found = await readdir(installed, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile());
  const sizes = await Promise.all(
    files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size),
  );
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  console.log(`${bytes} bytes in ${files.length} files`);
  expect(bytes).toBeLessThan(1_480_000);
});
