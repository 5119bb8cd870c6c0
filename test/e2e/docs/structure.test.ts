import { expect, test } from 'vitest';
import { withoutBlocks } from './blocks.ts';
import { type Page, pages } from './pages.ts';

const docs = pages.filter(({ path }) => path.startsWith('docs/'));
const byPath = (some: readonly Page[], except: readonly string[] = []) =>
  some.filter(({ path }) => !except.includes(path)).map((page) => [page.path, page] as const);

/** A section of a page with the sections below it. */
interface Section {
  readonly line: number;
  readonly heading: string;
  readonly text: string;
}

/** Lists the sections below headings of the second level. What is above the first is the section of the title. */
function listSections(page: Page): Section[] {
  const shown = withoutBlocks(page.text);
  const starts = [0, ...[...shown.matchAll(/^## /gm)].map(({ index }) => index)];
  return starts.map((start, at) => {
    const text = page.text.slice(start, starts[at + 1]);
    const line = page.text.slice(0, start).split('\n').length;
    return { line, heading: /^#+ (.*)$/m.exec(text)?.[1] ?? '', text };
  });
}

/** Returns the number of the line with the first block or table, or Infinity without one. */
function findExample(page: Page): number {
  const before = /^ *(?:```|\|)/m.exec(page.text);
  return before ? page.text.slice(0, before.index).split('\n').length : Number.POSITIVE_INFINITY;
}

test.each(byPath(docs))('shows code or a table before line 30: %s', (_, page) => {
  expect(findExample(page)).toBeLessThan(30);
});

test.each(byPath(docs))('ends with what to do next: %s', (_, page) => {
  const { heading, text } = listSections(page).at(-1) ?? { heading: '', text: '' };
  expect(heading).toBe('Next');
  expect(text.match(/\]\(/g)?.length ?? 0).toBeGreaterThan(0);
});

/** What states a measured figure: a unit, or a ratio. Elsewhere, ms and kB are those of options and limits. */
const FIGURE =
  /\d ?µs\b|\d times (?:as long|as many|the CPU|a bare)\b|\b[Mm]edians?\b|(?<!not )\b[Mm]easured\b/;
const FIGURE_EXPLAINED = /\d (?:ms|kB|MB|bytes)\b|\b\d{1,3}(?:,\d{3})+\b/;
const DATE = /\b\d{1,2} November 2026\b/;
const COMMAND = /`(?:npm (?:run|test)|node)\b[^`]*`|^npm (?:run|test)\b/m;

/** A summary at the beginning says that the sections below it have them. */
const SUMMARY = /\bbelow\b[^.]*\bits date and command\b/;

/** Lists the sections that state a measured figure without its date or its command. */
function findUndatedFigures(page: Page): string[] {
  return listSections(page).flatMap(({ line, heading, text }) => {
    const shown = withoutBlocks(text).replace(/`[^`\n]*`/g, '');
    const isMeasured =
      FIGURE.test(shown) || (page.path.startsWith('docs/explanation/') && FIGURE_EXPLAINED.test(shown));
    if (!isMeasured || SUMMARY.test(text)) return [];
    const missing = [...(DATE.test(text) ? [] : ['date']), ...(COMMAND.test(text) ? [] : ['command'])];
    return missing.map((what) => `${page.path}:${line} ${heading}: no ${what}`);
  });
}

const measured = pages.filter(({ path }) => /^(?:README\.md|docs\/(?!reference\/).*)$/.test(path));

test.each(byPath(measured))('has a date and a command for its figures: %s', (_, page) => {
  expect(findUndatedFigures(page)).toEqual([]);
});

test('reports a page without an example, an end or a date', () => {
  const fence = '```';
  const text = `# Page\nIt takes 2 ms, by \`npm run bench\`, on 1 November 2026.${'\n'.repeat(29)}${fence}sh
## No heading
npm run bench
${fence}
## Look
It takes \`2 ms\`, and 1,000 bytes.
### Below
1.4 times as long.
## End
Measured with \`npm test\`.`;
  const page = { path: 'docs/guides/page.md', text };
  expect(findExample(page)).toBe(31);
  expect(listSections(page).map(({ heading }) => heading)).toEqual(['Page', 'Look', 'End']);
  expect(findUndatedFigures(page)).toEqual([
    'docs/guides/page.md:35 Look: no date',
    'docs/guides/page.md:35 Look: no command',
    'docs/guides/page.md:39 End: no date',
  ]);
});
