import { globSync, readFileSync } from 'node:fs';
import type { Block } from './blocks.ts';
import { root } from './pages.ts';

const EXAMPLE = /@example\b(?<text>.*?)(?=\n\s*\*\s*@|\s*\*\/)/gs;
const FENCED = /^```ts\n(?<code>.*)\n```$/s;

/** Every `@example` of TypeScript in the source: a block, a line of code, an option with a value, or a value. */
export const examples: Block[] = globSync('src/**/*.ts', { cwd: root })
  .sort()
  .flatMap((page) => {
    const text = readFileSync(root + page, 'utf8');
    return [...text.matchAll(EXAMPLE)].flatMap(({ index, groups }) => {
      const shown = (groups?.text ?? '').replace(/^\s*\* ?/gm, '').trim();
      const line = text.slice(0, index).split('\n').length;
      return { page, heading: `line ${line}`, line, code: toStatement(shown, page), notRun: null };
    });
  });

function toStatement(shown: string, page: string): string {
  const code = FENCED.exec(shown)?.groups?.code;
  if (code !== undefined) return code;
  const option = page.startsWith('src/orders/') ? 'orderOption' : 'option';
  if (/^\w+: /.test(shown)) return `const given: typeof ${option} = { ${shown} };`;
  if (shown.startsWith('{')) return `const given: typeof value = ${shown};`;
  return shown;
}
