/** A text as it reads once some of its escapes are decoded, and where each of its characters stands in the source. */
export interface DecodedText {
  text: string;
  /** Where the source of the character at `index` begins. */
  startOf(index: number): number;
  /** Where the source of the character at `index` ends. */
  endOf(index: number): number;
}

/** JSON in an address in HTML is three levels. With many more, a hostile text would take long. */
const MOST_LEVELS = 8;

/** How JSON and JavaScript, an address, and HTML write a character. A run of backslashes is one escape, however long. */
const ESCAPE =
  /\\+(?:u([\da-f]{4})|u\{([\da-f]{1,6})\}|x([\da-f]{2})|([nrt]))?|((?:%[\da-f]{2})+)|&#x0{0,16}([\da-f]{1,6});?|&#0{0,16}(\d{1,7});?|&([a-z]{2,8});/gi;

/** The names that HTML has for the characters that stand in keys, email addresses and phone numbers. */
const NAMES: ReadonlyMap<string, string> = new Map(
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
);

/** The text as it is, and after each level of decoding: what is escaped twice can be read in the third. */
export function decodedTexts(text: string): DecodedText[] {
  const levels: DecodedText[] = [{ text, startOf: (index) => index, endOf: (index) => index + 1 }];
  for (let level = 0; level < MOST_LEVELS; level++) {
    const last = levels.at(-1);
    const next = last && decodeOnce(last);
    if (!next) break;
    levels.push(next);
  }
  return levels;
}

/** The text after the last level. */
export function fullyDecoded(text: string): string {
  return decodedTexts(text).at(-1)?.text ?? text;
}

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
    for (const [decoded, length] of charactersOf(match)) {
      add(decoded, end, end + length);
      end += length;
    }
    at += match[0].length;
  }
  copyUntil(source.text.length);
  if (text === source.text) return undefined;
  return { text, startOf: (index) => starts[index] ?? 0, endOf: (index) => ends[index] ?? 0 };
}

/** What an escape stands for, each character with the length of its source. */
function charactersOf(match: RegExpExecArray): [decoded: string, length: number][] {
  const [whole, unicode, codePoint, byte, space, percents, hexadecimal, decimal, name] = match;
  if (percents !== undefined) return [...percentDecoded(percents)];
  if (space !== undefined) return [[' ', whole.length]];
  if (name !== undefined) return [[NAMES.get(name.toLowerCase()) ?? whole, whole.length]];
  const hex = unicode ?? codePoint ?? byte ?? hexadecimal;
  if (hex !== undefined) return [[characterOf(Number.parseInt(hex, 16)), whole.length]];
  if (decimal !== undefined) return [[characterOf(Number(decimal)), whole.length]];
  return [];
}

const characterOf = (code: number) => (code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd');

function* percentDecoded(run: string): Generator<[decoded: string, length: number]> {
  for (let at = 0; at < run.length; ) {
    const first = Number.parseInt(run.slice(at + 1, at + 3), 16);
    const bytes = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    const decoded = decodedBytes(run.slice(at, at + 3 * bytes)) ?? [characterOf(first), 3];
    yield decoded;
    at += decoded[1];
  }
}

function decodedBytes(percents: string): [decoded: string, length: number] | undefined {
  try {
    return [decodeURIComponent(percents), percents.length];
  } catch {
    return undefined;
  }
}
