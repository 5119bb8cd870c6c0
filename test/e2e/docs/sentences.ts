import { withoutBlocks } from './blocks.ts';
import type { Page } from './pages.ts';

/** A sentence of a page, with the line on which its paragraph, item or cell begins. */
export interface Sentence {
  readonly line: number;
  readonly text: string;
}

const ITEM = /^ *(?:[-*]|\d+\.) +/;
const HEADING = /^ *#{1,6} /;
const SEPARATOR = /^ *\|[ |:-]+\|? *$/;

/**
 * Lists the sentences of a page. Blocks, comments and addresses are left out, and code in a line is one word. A heading, an
 * item and the cell of a table are sentences of their own.
 */
export function listSentences({ text }: Page): Sentence[] {
  const bare = withoutBlocks(text)
    .replace(/<!--.*?-->/gs, blank)
    .replace(/`(?:[^`\n]|\n(?!\s*(?:\n|[|#>*-])))+`/g, (code) => `CODE${code.replace(/[^\n]/g, '')}`)
    .replace(/!\[[^\]]*\]\([^)]*\)/g, blank)
    .replace(/\[(?<label>[^\]]*)\]\([^)]*\)/g, '$<label>')
    .replace(/<[^>\n]*>|\*\*|(?<!\w)_|_(?!\w)/g, '');
  const parts: { line: number; text: string }[] = [];
  let isOpen = false;
  for (const [index, line] of bare.split('\n').entries()) {
    const isTable = /^ *\|/.test(line);
    const isStart = !isOpen || isTable || ITEM.test(line) || HEADING.test(line);
    isOpen = line.trim() !== '' && !isTable && !HEADING.test(line);
    if (line.trim() === '' || SEPARATOR.test(line)) continue;
    const own = line
      .replace(ITEM, '')
      .replace(HEADING, '')
      .replace(/^ *> ?/, '')
      .trim();
    const last = parts.at(-1);
    if (isTable) parts.push(...own.split('|').map((cell) => ({ line: index + 1, text: cell.trim() })));
    else if (isStart || !last) parts.push({ line: index + 1, text: own });
    else last.text += ` ${own}`;
  }
  return parts.flatMap((part) =>
    part.text
      .split(/(?<=[.!?]["')]*) +| (?:·|→) /)
      .filter(Boolean)
      .map((sentence) => ({ line: part.line, text: sentence })),
  );
}

const blank = (text: string) => text.replace(/[^\n]/g, ' ');

/** Counts the words of a sentence. */
export function countWords({ text }: Sentence): number {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}
