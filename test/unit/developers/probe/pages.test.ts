import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Assumption, assumptionsBySection } from '../../../../src/developers/probe/assumptions.ts';
import { deviations } from '../../../../src/developers/service/deviations.ts';
import { runCommand } from './run-command.ts';
import { startTestSandbox } from './run-probe.ts';

const readPage = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8');
const sections = Object.entries(assumptionsBySection).map(([heading, assumptions]) => ({
  heading,
  all: Object.values<Assumption>(assumptions),
}));

/** Returns the text below a heading, each item of a list in one line. */
function readSection(page: string, heading: string): string {
  const [, text = ''] = new RegExp(`^## ${heading}\n(.*?)(?=^## |$(?![\\s\\S]))`, 'ms').exec(page) ?? [];
  return text.replace(/\n {2,}/g, ' ');
}

test.each(sections)('service.md marks the assumptions of the table below $heading', ({ heading, all }) => {
  const marked = [
    ...readSection(readPage('docs/reference/service.md'), heading).matchAll(/^- \*\*Assumption:\*\* (.+)$/gm),
  ];
  // To change one, change src/developers/probe/assumptions.ts and the page. What the page explains follows the sentence.
  const starts = marked.map(([, text = ''], at) => text.slice(0, all[at]?.sentence.length));
  expect(starts).toEqual(all.map(({ sentence }) => sentence));
});

test('service.md marks no assumption elsewhere', () => {
  const marked = readPage('docs/reference/service.md').match(/^- \*\*Assumption:\*\*/gm) ?? [];
  expect(marked).toHaveLength(sections.reduce((sum, { all }) => sum + all.length, 0));
});

test('going-live.md asks the questions of the table', () => {
  const list = sections.map(({ heading, all }) => {
    const anchor = heading.toLowerCase().replaceAll(' ', '-');
    return `- **[${heading}](../reference/service.md#${anchor})**: ${all.flatMap(({ ask }) => ask ?? []).join(' ')}`;
  });
  // If it differs: copy the list of src/developers/probe/assumptions.ts, as the test expects it, to the page.
  const section = readSection(readPage('docs/guides/going-live.md'), 'Ask the provider of the service');
  expect(section.match(/^- .+$/gm)).toEqual(list);
});

test('names only options that exist', () => {
  const named = sections
    .flatMap(({ all }) => all.flatMap(({ leans, todo = '' }) => [leans, todo]))
    .flatMap((text) => text.match(/(?<=polling\.)\w+|maxRetries|maxAmount|extraBody|expect\b/g) ?? []);
  const options = readPage('docs/reference/options.md');
  expect(named.length).toBeGreaterThan(8);
  expect(named.filter((name) => !options.includes(`\n| \`${name}\` |`))).toEqual([]);
});

test('payment-sandbox.md shows deviations in the words of --help', () => {
  const section = readSection(readPage('docs/reference/payment-sandbox.md'), 'Break an assumption');
  const rows = [...section.matchAll(/^\| `([\w-]+)` \| (.+) \|$/gm)].map(([, id, label]) => [id, label]);
  expect(rows.length).toBeGreaterThan(2);
  expect(Object.entries(deviations).map(([id, { label }]) => [id, label])).toEqual(
    expect.arrayContaining(rows),
  );
});

test('payment-probe.md shows rows of a report, and what --help shows', async () => {
  const page = readPage('docs/reference/payment-probe.md');
  const { baseUrl, testKey } = await startTestSandbox({ deviate: 'new-is-open' });
  const env = { PAYMENTS_BASE_URL: baseUrl, PAYMENTS_API_KEY: testKey };
  const { out } = await runCommand([], { env });
  const [, shown = ''] = /^```text\n(.*?)^```$/ms.exec(page) ?? [];
  expect(shown.split('\n').length).toBeGreaterThan(5);
  expect(shown.split('\n').filter((line) => !out.split('\n').includes(line))).toEqual([]);

  const help = (await runCommand(['--help'], { env })).out;
  const options = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name);
  expect(options(page, /^\| `(--[\w-]+(?: <\w+>)?)`/gm)).toEqual(
    options(help, /^ {2}(--[\w-]+(?: <\w+>)?)/gm),
  );
  expect(options(page, /^\| (\d) \|/gm)).toEqual(options(help, /^ {2}(\d) /gm));
});
