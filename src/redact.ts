import { type DecodedText, decodedTexts, fullyDecoded } from './decoded-text.ts';

const REDACTED = '[REDACTED]';
const DEPTH = 16;
const MAX_BODY = 16 * 1024;
const LIKE_A_NUMBER = /\d(?:\D{0,2}\d){4,}/g;
const LONGEST_WORD = 1024;
/** Keys of other calls: one that was just replaced, say. */
const ANY_KEY = /sk_(?:test|live)_[\w-]+/gi;
const LIKE_A_SECRET = /(?=[^\s"'`]{0,99}\d)(?=[^\s"'`]{0,99}[a-z])[^\s"'`]{16,}/gi;
const EMAIL = /[^\s@<>"(),:;[\]{}]{1,64}@[^\s@<>"'(),:;[\]{}]{1,255}/gu;
const PERSONAL_FIELD = /phone|msisdn|mobile_?number|email/i;
/** What is said about a phone number or an email, `must have 10 digits`, is none. */
const PERSONAL_VALUE = /@|(?:\d\D*){5}/;
/**
 * What may stand between the digits of a number that is known: ASCII, Latin-1 and Unicode's own punctuation and spaces.
 * Ranges, because a class of all that is no letter takes a second to compile thirty times over, for each new number.
 */
const BETWEEN = '[\\0-/:-@[-`{-\\xbf\\u2000-\\u206f\\u2212\\u3000-\\u303f\\ufe00-\\ufe6f\\ufeff-\\uff0f]';

/** What may stand between the digits of a number that is not known. */
const GAP = '[ \\t\\xa0\\u2000-\\u2015\\u2212().\\/-]{0,4}';
const DAY = '(?:0?[1-9]|[12]\\d|3[01])';
const YEAR = '(?:19|20)\\d\\d';
/**
 * What is made of digits and is no phone number: a UUID, a reference, a date. Only a date that exists and that no group of digits
 * follows is one: `0241-20-31-56` is a phone number. An IPv4 address needs no exception: only one that begins as a phone number
 * does, such as `0.241.123.156`, looks like one, and cannot be told from it.
 */
const NO_PHONE =
  '[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}|TXN-[^\\s"\'<>,;]{1,251}|' +
  `${YEAR}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])(?!-?\\d)|${DAY}([-\\/.])${DAY}\\1${YEAR}(?!\\d|\\1\\d)`;
/** +233 24 412 3456, 00233 24 412 3456, 024 412 3456 and 233244123456; and any number behind a word such as `phone`. */
const PHONE_FORMS = [
  `\\+ ?[1-9](?:${GAP}\\d){7,14}`,
  `(?<![\\w-]|\\d\\.)(?:\\(0|00(?=[1-9])|0(?!0|\\.\\d+(?!\\.?\\d)))(?:${GAP}\\d){8,13}`,
  `(?<![\\w-]|\\d\\.)\\(?233${GAP}(?:\\(?0\\)?${GAP})?[235](?:${GAP}\\d){8}`,
  `(?<=\\b(?:phone|mobile|msisdn|momo|telephone|tel\\.?|subscriber|payer|wallet|number|sms|whatsapp)(?:[ _-]?(?:number|no\\.?))?["']?\\s{0,3}[:=#]?\\s{0,3}["'(]?)\\d(?:${GAP}\\d){6,14}`,
];
const PHONE_LIKE = new RegExp(`${NO_PHONE}|(?<phone>${PHONE_FORMS.join('|')})(?![\\da-z_]|[.,]\\d)`, 'gi');

/** Where something that must not be printed begins and ends. */
type Span = readonly [start: number, end: number];
type Find = (text: string) => Iterable<Span>;

/** Takes out what must never be printed: the key, and the customer's phone number and email. */
export interface Redact {
  (text: string): string;
  /** For an id that people look for: what only looks like a phone number may be a part of it, and stays. */
  id(text: string): string;
  /** Only what this call was given, and keys: another's email may be a part of an address. */
  own(text: string): string;
  /** An answer's body as an error may carry it: JSON where it is that, else text, shortened. */
  body(answer: { text: string; json: unknown }): unknown;
}

export function createRedact(apiKeys: readonly string[], phone = '', email = ''): Redact {
  const ofCall: Find[] = [
    ...apiKeys.flatMap((key) => findWritten(key)),
    findPattern(ANY_KEY),
    ...findWritten(phone, 4),
    ...findDigits(phone),
    ...findWritten(email, 4),
  ];
  const own = (text: string) => hide(text, ofCall);
  const id = (text: string) => hide(text, [...ofCall, findPattern(EMAIL)]);
  const redact = (text: string) => hide(text, [...ofCall, findPattern(EMAIL), findPhones]);

  const deep = (value: unknown, depth: number, personal: boolean): unknown => {
    if (typeof value !== 'object' || value === null) return leaf(value, personal);
    if (depth === DEPTH) return '[nested too deep to show]';
    if (Array.isArray(value)) return value.map((item) => deep(item, depth + 1, personal));
    const clean = Object.entries(value).map(([name, item]) => {
      return [redact(name), deep(item, depth + 1, personal || PERSONAL_FIELD.test(name))];
    });
    return Object.fromEntries(clean);
  };

  const leaf = (value: unknown, personal: boolean): unknown => {
    if (typeof value !== 'string' && typeof value !== 'number') return value;
    const text = String(value);
    const clean = personal && PERSONAL_VALUE.test(text) ? REDACTED : redact(text);
    return clean === text ? value : clean;
  };

  const body = ({ text, json }: { text: string; json: unknown }) =>
    json === undefined || text.length > MAX_BODY
      ? redact(apiKeys.reduce((rest, key) => redactTruncatedKey(key, rest), truncateAtBoundary(text)))
      : deep(json, 0, false);

  return Object.assign(redact, { id, own, body });
}

/** For the words of others, where it is not known which key may be in them, nor what it looks like. */
export function redactUnknownSecrets(text: string): string {
  return createRedact([])(text).replace(LIKE_A_SECRET, REDACTED);
}

/**
 * A reference for messages, events and log lines. People look for it, so digits stay: a number of a customer in it cannot be
 * told from a number that was generated.
 */
export const redactReference = createRedact([]).id;

/** Searches the text as it is, and as it reads with its escapes decoded, and hides what is found where it stands. */
function hide(source: string, finds: readonly Find[]): string {
  const spans = decodedTexts(source).flatMap((decoded) => spansIn(decoded, finds));
  if (spans.length === 0) return source;
  spans.sort(([one], [other]) => one - other);
  let shown = '';
  let at = 0;
  for (const [start, end] of spans) {
    if (start >= at) shown += source.slice(at, start) + REDACTED;
    at = Math.max(at, end);
  }
  return shown + source.slice(at);
}

function spansIn({ text, startOf, endOf }: DecodedText, finds: readonly Find[]): Span[] {
  return finds.flatMap((find) =>
    Array.from(find(text), ([start, end]): Span => [startOf(start), endOf(end - 1)]),
  );
}

function findPattern(pattern: RegExp): Find {
  return (text) =>
    Array.from(text.matchAll(pattern), ({ 0: found, index }): Span => [index, index + found.length]);
}

const findPhones: Find = (text) =>
  Array.from(text.matchAll(PHONE_LIKE)).flatMap(({ groups, index }): Span[] => {
    const { length } = groups?.phone ?? '';
    return length > 0 ? [[index, index + length]] : [];
  });

/** A secret as it is given, and with what looks like escapes in it decoded, since those in a text are. */
function findWritten(secret: string, shortest = 1): Find[] {
  if (secret.length < shortest) return [];
  const whole = lowerCase(secret);
  const decoded = lowerCase(fullyDecoded(secret));
  const needles = new Set([whole, decoded.length < shortest ? whole : decoded]);
  return [...needles].map((needle) => (text) => placesOf(needle, lowerCase(text)));
}

function* placesOf(needle: string, text: string): Generator<Span> {
  for (let at = text.indexOf(needle); at !== -1; at = text.indexOf(needle, at + needle.length))
    yield [at, at + needle.length];
}

/** Of the same length, so that places are the same. Half a character cannot be written in an address. */
function lowerCase(text: string): string {
  const whole = text.replace(/\p{Cs}/gu, '\ufffd');
  const lower = whole.toLowerCase();
  return lower.length === whole.length ? lower : whole.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** A number comes back in other dress, `024 412 3456` as `+233244123456`: its last nine digits tell it. */
function findDigits(phone: string): Find[] {
  const digits = phone.match(/\p{Nd}/gu) ?? [];
  if (digits.length < 4) return [];
  const number = digits.slice(-9).join(`${BETWEEN}*`);
  return [findPattern(new RegExp(`(?:\\+?\\d{1,4}${BETWEEN}{0,3})?${number}`, 'g'))];
}

/** Cut where nothing that is to be taken out can be cut in two: no word, and no number with spaces in it. */
function truncateAtBoundary(text: string): string {
  if (text.length <= MAX_BODY) return text;
  let end = MAX_BODY;
  while (end > MAX_BODY - LONGEST_WORD && /[^\s"'<>,;]/.test(text.charAt(end - 1))) end--;
  while (end > MAX_BODY - LONGEST_WORD && /[\d\s()+.-]/.test(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** The name of a field may be anything that a customer sent, and ends in a log. */
export function redactFieldName(name: string): string {
  const clean = redactUnknownSecrets(name.slice(0, 255)).replace(LIKE_A_NUMBER, REDACTED);
  return clean === name && !/\p{Cc}/u.test(name) ? name : JSON.stringify(clean);
}

/** A body that was cut short may end in the middle of an echoed key. */
function redactTruncatedKey(key: string, text: string): string {
  for (let length = Math.min(key.length - 1, text.length); length > 3; length--) {
    if (text.endsWith(key.slice(0, length))) return `${text.slice(0, -length)}${REDACTED}`;
  }
  return text;
}
