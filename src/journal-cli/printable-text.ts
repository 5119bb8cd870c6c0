/**
 * Text of others as a terminal can show it. A key can hold any Unicode: an escape sequence, a change of direction or an
 * invisible character would make an operator see something else than what is recorded.
 */

/** Everything that has no glyph of its own, and all spaces but the usual one. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/** Replaces each character that cannot be seen by its escape, such as `\u202e`. */
export function escapeUnprintable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => {
    const code = toHex(character);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`;
  });
}

/** Writes a value as JSON in one line. The escapes are JSON's own, so the value that is read back is the same. */
export function toJsonLine(value: object, redact: (text: string) => string = String): string {
  const text = JSON.stringify(value, (_, item: unknown) => (typeof item === 'string' ? redact(item) : item));
  return text.replace(UNPRINTABLE, (character) =>
    Array.from(
      { length: character.length },
      (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}

/** Quotes an argument for bash and zsh, so that it can be copied into a command. */
export function quoteForShell(argument: string): string {
  if (/^[\w@+:,./][\w@+:,./-]*$/.test(argument)) return argument;
  if (argument.search(UNPRINTABLE) === -1) return `'${argument.replaceAll("'", "'\\''")}'`;
  const escaped = argument.replace(/[\\']/g, '\\$&').replace(UNPRINTABLE, (character) => {
    const code = toHex(character);
    return code.length > 4 ? `\\U${code.padStart(8, '0')}` : `\\u${code.padStart(4, '0')}`;
  });
  return `$'${escaped}'`;
}

function toHex(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16);
}

/** Returns how many columns a text takes at most: terminals differ about emoji. */
export function measureWidth(text: string): number {
  let width = 0;
  for (const character of text) width += measureCharacter(character);
  return width;
}

function measureCharacter(character: string): number {
  if (/^[ -~]$/.test(character)) return 1;
  if (character === EMOJI_SELECTOR) return 1;
  if (/\p{M}/u.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** It turns the symbol before it into an emoji, which is wider. */
const EMOJI_SELECTOR = '\ufe0f';

/** East Asian wide and full-width characters, and emoji. */
const WIDE =
  /[\u{1100}-\u{115f}\u{2329}\u{232a}\u{2e80}-\u{303e}\u{3040}-\u{a4cf}\u{a960}-\u{a97f}\u{ac00}-\u{d7a3}\u{f900}-\u{faff}\u{fe10}-\u{fe19}\u{fe30}-\u{fe6f}\u{ff01}-\u{ff60}\u{ffe0}-\u{ffe6}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Shortens a text in the middle, to at most this many columns: both ends of a key tell it from others. */
export function shortenInMiddle(text: string, maxWidth: number): string {
  if (measureWidth(text) <= maxWidth) return text;
  const parts = Array.from(graphemes.segment(text), ({ segment }) => segment);
  const room = maxWidth - 1;
  const start = takeWhileFits(parts, Math.ceil(room / 2));
  const end = takeWhileFits(parts.toReversed(), room - measureWidth(start.join('')));
  return `${start.join('')}…${end.toReversed().join('')}`;
}

function takeWhileFits(parts: readonly string[], maxWidth: number): string[] {
  let width = 0;
  const end = parts.findIndex((part) => {
    width += measureWidth(part);
    return width > maxWidth;
  });
  return parts.slice(0, end === -1 ? parts.length : end);
}

/** Fills a text with spaces to this many columns. */
export function padTo(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const spaces = ' '.repeat(Math.max(0, width - measureWidth(text)));
  return align === 'left' ? text + spaces : spaces + text;
}

/** Breaks prose into lines of at most `width` columns, and indents them. A longer word has a line of its own. */
export function wrapText(text: string, width: number, indent = ''): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && measureWidth(indent + longer) > width) {
      lines.push(indent + line);
      line = word;
    } else line = longer;
  }
  return [...lines, indent + line];
}
