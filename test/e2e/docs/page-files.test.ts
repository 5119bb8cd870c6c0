import { expect, test } from 'vitest';
import { blocksOf, fileNameOf, withFiles } from './blocks.ts';
import { faultsOf } from './compile.ts';
import { findFalseComments, runBlock } from './run.ts';

const fence = '```';
const text = `# A page
${fence}ts
// shop/names.ts
console.log('names are read'); // 'names are read'
export const first = 'ama', second = 'kofi';
export default class Shop {}
${fence}
${fence}ts
// shop/payments.ts
import Shop, { first as who, type first as Who } from './names.js';

export type Payment = { id: string };
export const { id, ...others } = { id: who, size: 2 };
export async function fulfil(payment: Payment): Promise<void> {
  console.log(\`deliver \${payment.id} of \${order}\`);
}
const total: number = 17;
export { total as sum, Shop as default };
${fence}
## Use it
${fence}ts
import Shop, {
  fulfil,
  type Payment,
} from './shop/payments.ts';
import * as all from './shop/payments.js';
import { second } from './shop/names.ts';

const payment: Payment = { id: second };
await fulfil(payment);
console.log(Object.keys(all).sort().join(' ')); // 'default fulfil id others sum'
console.log(all.default === Shop); // true: it is loaded once
${fence}
## Fail
${fence}ts
import { fulfil, nothing } from './shop/payments.ts';

fulfil({ id: 17 });
throw new Error(\`no \${nothing}\`);
${fence}
${fence}ts
import { fulfil } from './elsewhere.ts';
${fence}
`;

const blocks = blocksOf({ path: 'docs/page.md', text });
const [names, payments, use, fail, lost] = blocks;
const run = (block = use) => {
  if (!block) throw new Error('The page has no such block');
  return runBlock(block, { order: 'order-17' }, { blocks });
};

test('finds the files of a page', () => {
  expect(blocks.map(fileNameOf)).toEqual([
    'shop/names.ts',
    'shop/payments.ts',
    undefined,
    undefined,
    undefined,
  ]);
  expect(use && withFiles(use, blocks)).toEqual([use, payments, names]);
});

test('compiles blocks that import the files of their page', () => {
  const faults = faultsOf(blocks);
  expect(blocks.map((block) => faults.get(block))).toEqual([
    [],
    [],
    [],
    [
      expect.stringContaining(
        `docs/page.md:36 Module '"./shop/payments.ts"' has no exported member 'nothing'`,
      ),
      "docs/page.md:38 Type 'number' is not assignable to type 'string'.",
    ],
    [expect.stringContaining("docs/page.md:42 Cannot find module './elsewhere.ts'")],
  ]);
});

test('runs the files that a block imports, once each', async () => {
  const printed = await run();
  expect(printed).toEqual([
    { line: 4, text: "'names are read'" },
    { line: 15, text: "'deliver kofi of order-17'" },
    { line: 31, text: "'default fulfil id others sum'" },
    { line: 32, text: 'true' },
  ]);
  expect(blocks.slice(0, 3).flatMap((block) => findFalseComments(block, printed))).toEqual([]);
});

test('names the line of an error', async () => {
  await expect(run(fail)).rejects.toThrow('docs/page.md:39 Error: no undefined');
  await expect(run(lost)).rejects.toThrow('Cannot find module');
});
