import { readdir, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, inject, test } from 'vitest';
import { tool } from './project.ts';
import { run } from './run.ts';

const here = fileURLToPath(new URL('.', import.meta.url));

// The limits here and in .size-limit.json are at most a tenth above the measured sizes, to detect a jump.
test('adds no more to a bundle than its limits, minified and compressed', async () => {
  const printed = await run(process.execPath, [tool('size-limit/bin.js'), '--json'], here);
  const sizes: { name: string; passed: boolean; size: number }[] = JSON.parse(printed);
  console.log(sizes.map(({ name, size }) => `${name}: ${size} bytes`).join('\n'));
  expect(sizes).toHaveLength(6);
  for (const size of sizes) expect(size).toMatchObject({ passed: true });
});

test('unpacks to less than 1,900 kB of code, and 2,620 kB in all', async () => {
  const installed = join(inject('bare'), 'node_modules/payment-collection-client');
  const found = await readdir(installed, { recursive: true, withFileTypes: true });
  const files = found.filter((entry) => entry.isFile());
  const sizes = await Promise.all(
    files.map(async ({ parentPath, name }) => {
      const path = join(parentPath, name);
      return { isCode: relative(installed, path).startsWith('dist'), bytes: (await stat(path)).size };
    }),
  );
  const sum = (of: typeof sizes) => of.reduce((total, { bytes }) => total + bytes, 0);
  const code = sizes.filter(({ isCode }) => isCode);
  console.log(`${sum(code)} bytes in ${code.length} files of code, ${sum(sizes)} in all ${sizes.length}`);
  expect(sum(code)).toBeLessThan(1_900_000);
  expect(sum(sizes)).toBeLessThan(2_620_000);
});
