/** Decodes escapes, so that a secret is found however it is written: JSON, JavaScript, percent-encoding, HTML. */

/** A text as it reads with escapes decoded, and the position of each of its characters in the source. */
export interface DecodedText {
  text: string;
  startOf(index: number): number;
  /** Returns where the source of the character at `index` ends. */
  endOf(index: number): number;
}

/** Returns the text as it is, and after each level of decoding: what is escaped twice can be read in the third. */
export function decodeLevels(text: string): DecodedText[] {
  const levels: DecodedText[] = [{ text, startOf: (index) => index, endOf: (index) => index + 1 }];
  for (let level = 0; level < MAX_LEVELS; level++) {
    const last = levels.at(-1);
    const next = last && decodeOnce(last);
    if (!next) break;
    levels.push(next);
  }
  return levels;
}

/** Returns the text after the last level of decoding, without positions: a body can be long. */
export function decodeFully(text: string): string {
  let decoded = text;
  for (let level = 0; level < MAX_LEVELS; level++) {
    const next = decoded.replace(ESCAPE, (...groups: string[]) =>
      decodeEscape(groups)
        .map(([character]) => character)
        .join(''),
    );
    if (next === decoded) break;
    decoded = next;
  }
  return decoded;
}

/**
 * Returns the text with every decimal digit of Unicode as an ASCII digit: full-width and Arabic-Indic ones, for example. It
 * keeps the length: a digit of two units is followed by a zero-width space.
 */
export function foldDigits(text: string): string {
  return text.replace(
    /(?![0-9])\p{Nd}/gu,
    (digit) => toAsciiDigit(digit) + '\u200b'.repeat(digit.length - 1),
  );
}

/** The digits of a script stand in a row from 0 to 9, and such rows can follow each other. */
function toAsciiDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let first = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first--;
  return String((code - first) % 10);
}

/** JSON in an address in HTML is three levels. Many more would let a hostile text take long. */
const MAX_LEVELS = 8;

function decodeOnce(source: DecodedText): DecodedText | undefined {
  let text = '';
  const starts: number[] = [];
  const ends: number[] = [];
  const add = (decoded: string, from: number, to: number) => {
    text += decoded;
    for (let unit = 0; unit < decoded.length; unit++) {
      starts.push(source.startOf(from));
      ends.push(source.endOf(to - 1));
    }
  };
  let at = 0;
  const copyUntil = (end: number) => {
    for (; at < end; at++) add(source.text.charAt(at), at, at + 1);
  };
  for (const match of source.text.matchAll(ESCAPE)) {
    copyUntil(match.index);
    let end = at;
    for (const [decoded, length] of decodeEscape(match)) {
      add(decoded, end, end + length);
      end += length;
    }
    at += match[0].length;
  }
  copyUntil(source.text.length);
  if (text === source.text) return undefined;
  return { text, startOf: (index) => starts[index] ?? 0, endOf: (index) => ends[index] ?? 0 };
}

/** How JSON, JavaScript, an address and HTML escape a character. A run of backslashes is one escape, however long. */
const ESCAPE =
  /\\+(?:u([\da-f]{4})|u\{([\da-f]{1,6})\}|x([\da-f]{2})|([nrt]))?|((?:%[\da-f]{2})+)|&#x0{0,16}([\da-f]{1,6});?|&#0{0,16}(\d{1,7});?|&([a-z]{2,8});/gi;

/** Returns the characters that an escape stands for, each with the length of its source. */
function decodeEscape(match: readonly (string | undefined)[]): [decoded: string, length: number][] {
  const [whole = '', unicode, codePoint, byte, space, percents, hexadecimal, decimal, name] = match;
  if (percents !== undefined) return [...decodePercents(percents)];
  if (space !== undefined) return [[' ', whole.length]];
  if (name !== undefined) return [[CHARACTER_NAMES.get(name.toLowerCase()) ?? whole, whole.length]];
  const hex = unicode ?? codePoint ?? byte ?? hexadecimal;
  if (hex !== undefined) return [[toCharacter(Number.parseInt(hex, 16)), whole.length]];
  if (decimal !== undefined) return [[toCharacter(Number(decimal)), whole.length]];
  return [];
}

function toCharacter(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
}

function* decodePercents(run: string): Generator<[decoded: string, length: number]> {
  for (let at = 0; at < run.length; ) {
    const first = Number.parseInt(run.slice(at + 1, at + 3), 16);
    const bytes = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    const decoded = decodeBytes(run.slice(at, at + 3 * bytes)) ?? [toCharacter(first), 3];
    yield decoded;
    at += decoded[1];
  }
}

function decodeBytes(percents: string): [decoded: string, length: number] | undefined {
  try {
    return [decodeURIComponent(percents), percents.length];
  } catch {
    return undefined;
  }
}

/** The HTML names of the characters that can be in keys, email addresses and phone numbers. */
const CHARACTER_NAMES: ReadonlyMap<string, string> = /* @__PURE__ */ (() =>
  new Map(
    Object.entries({
      amp: '&',
      apos: "'",
      ast: '*',
      bsol: '\\',
      colon: ':',
      comma: ',',
      commat: '@',
      dash: '-',
      dollar: '$',
      emsp: ' ',
      ensp: ' ',
      equals: '=',
      excl: '!',
      grave: '`',
      gt: '>',
      hat: '^',
      hyphen: '-',
      lbrace: '{',
      lbrack: '[',
      lcub: '{',
      lowbar: '_',
      lpar: '(',
      lsqb: '[',
      lt: '<',
      mdash: '-',
      minus: '-',
      nbsp: ' ',
      ndash: '-',
      newline: '\n',
      num: '#',
      percnt: '%',
      period: '.',
      plus: '+',
      quest: '?',
      quot: '"',
      rbrace: '}',
      rbrack: ']',
      rcub: '}',
      rpar: ')',
      rsqb: ']',
      semi: ';',
      shy: '-',
      sol: '/',
      tab: '\t',
      thinsp: ' ',
      verbar: '|',
    }),
  ))();
