import { expect, test } from 'vitest';
import { pages } from './pages.ts';
import { countWords, listSentences } from './sentences.ts';

const MOST_WORDS = 20;

/** Words of no other project, words of idioms, and claims that nobody can prove. */
const UNWANTED = [
  /\bin doubt\b/,
  /\bleft open\b/,
  /\bsettle[sd]?\b/,
  /\bhints?\b/,
  /\bpark(?:ed|s)?\b/,
  /\bheard of\b/,
  /\bheld up\b/,
  /\bbegun long ago\b/,
  /\bmend(?:s|ed)?\b/,
  /\bwhoever\b/,
  /\bsome(?:body|one)\b/,
  /\bfor want of\b/,
  /\bpatience\b/,
  /\bdribbles?\b/,
  /\banswerLost\b/,
  /\banswer(?:s|ed)?\b/,
  /\bmay\b/,
  /\b(?:SPEC|DESIGN|STYLE)\.md\b/,
  /\bnever wrong\b/,
  /\bguarantee[ds]?\b/,
  /\balways safe\b/,
  /\bany version of Node\b/,
  /\bNode of any (?:age|version)\b/,
];

const read = pages.filter(({ path }) =>
  /^(?:(?:README|AGENTS|CONTRIBUTING|SECURITY|CHANGELOG)\.md$|docs\/|examples\/)/.test(path),
);

test.each(read.map((page) => [page.path, page] as const))(
  `has no sentence of more than ${MOST_WORDS} words: %s`,
  (_, page) => {
    const long = listSentences(page).filter((sentence) => countWords(sentence) > MOST_WORDS);
    expect(long.map(({ line, text }) => `${page.path}:${line} ${text}`)).toEqual([]);
  },
);

// This page lists the words that are not used.
const others = read.filter(({ path }) => path !== 'CONTRIBUTING.md');

test.each(others.map((page) => [page.path, page] as const))(
  'has no word that its readers do not know: %s',
  (_, page) => {
    const found = listSentences(page).flatMap(({ line, text }) =>
      UNWANTED.filter((word) => new RegExp(word, 'i').test(text)).map(
        (word) => `${page.path}:${line} ${word.source}: ${text}`,
      ),
    );
    expect(found).toEqual([]);
  },
);

test('splits a page into sentences', () => {
  const text = `# A heading
One **fact**, as in [a
link](a.md#b). Two: \`const a = 1; f();\`, and
version 2.1. <!-- no
sentence --> _Three!_

- an item
  of two lines
1. "Another." (A third)

> A quotation

| a b | \`c\` |
|---|---|
| One. Two | ![a picture](a.svg) |

${'```'}ts
const a = 1;
${'```'}
At the end · or not`;
  const sentences = listSentences({ path: 'page.md', text });
  expect(sentences.map((sentence) => `${sentence.line} ${countWords(sentence)} ${sentence.text}`)).toEqual([
    '1 2 A heading',
    '2 6 One fact, as in a link.',
    '2 5 Two: CODE, and version 2.1.',
    '2 1 Three!',
    '7 5 an item of two lines',
    '9 1 "Another."',
    '9 2 (A third)',
    '11 2 A quotation',
    '13 2 a b',
    '13 1 CODE',
    '15 1 One.',
    '15 1 Two',
    '20 3 At the end',
    '20 2 or not',
  ]);
});
