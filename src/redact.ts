const HIDDEN = '[REDACTED]';
const DEPTH = 16;
const LONGEST_BODY = 16 * 1024;
const LIKE_A_NUMBER = /\d(?:\D{0,2}\d){4,}/g;
const LONGEST_WORD = 1024;
/** A pattern of many more characters takes seconds to compile, or does not compile at all. */
const LONGEST_SPELT = 200;
/** Keys of other calls: one that was just replaced, say. */
const ANY_KEY = /sk_(?:test|live)_[\w-]+/g;
const LIKE_A_SECRET = /(?=[^\s"'`]{0,99}\d)(?=[^\s"'`]{0,99}[a-z])[^\s"'`]{16,}/gi;
const EMAIL =
  /(?:&#?\w{1,8};|[^\s@<>"(),:;[\]{}]){1,64}(?:@|%40|&#0*64;|&#x0*40;|&commat;|\\{1,8}u0040)(?:&#?\w{1,8};|[^\s@<>"'(),:;[\]{}]){1,255}/giu;
const PERSONAL_FIELD = /phone|msisdn|mobile_?number|email/i;
/** What is said about a phone number or an email, `must have 10 digits`, is none. */
const PERSONAL_VALUE = /@|(?:\d\D*){5}/;
/** How JSON, an address or HTML may write a character that is neither letter nor digit. */
const OTHER_ESCAPE = '%[\\da-fA-F]{2}|&#?\\w{1,8};';
const ESCAPE = `\\\\{1,8}u[\\da-fA-F]{4}|${OTHER_ESCAPE}`;
/**
 * What may stand between the digits of a number: ASCII, Latin-1 and Unicode's own punctuation and spaces. Ranges, because
 * a class of all that is no letter takes a second to compile thirty times over, for each new number.
 */
const BETWEEN = '\\0-/:-@[-`{-\\xbf\\u2000-\\u206f\\u2212\\u3000-\\u303f\\ufe00-\\ufe6f\\ufeff-\\uff0f';

/** Takes out what must never be printed: the key, and the customer's phone number and email. */
export interface Redact {
  (text: string): string;
  /** An answer's body as an error may carry it: JSON where it is that, else text, shortened. */
  body(answer: { text: string; json: unknown }): unknown;
}

export function createRedact(apiKeys: readonly string[], phone = '', email = ''): Redact {
  const hidden = [
    ...apiKeys.flatMap((key) => spelt(key)),
    ANY_KEY,
    ...spelt(phone, 4),
    ...digitsOf(phone),
    ...spelt(email, 4),
    EMAIL,
  ];

  const redact = (text: string) =>
    hidden.reduce<string>((clean, secret) => clean.replaceAll(secret, HIDDEN), text);

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
    const clean = personal && PERSONAL_VALUE.test(text) ? HIDDEN : redact(text);
    return clean === text ? value : clean;
  };

  const body = ({ text, json }: { text: string; json: unknown }) =>
    json === undefined || text.length > LONGEST_BODY
      ? redact(apiKeys.reduce((rest, key) => withoutPartOf(key, rest), shortened(text)))
      : deep(json, 0, false);

  return Object.assign(redact, { body });
}

/** For the words of others, where it is not known which key may be in them, nor what it looks like. */
export function withoutSecrets(text: string): string {
  return createRedact([])(text).replace(LIKE_A_SECRET, HIDDEN);
}

/** Cut where nothing that is to be taken out can be cut in two: no word, and no number with spaces in it. */
function shortened(text: string): string {
  if (text.length <= LONGEST_BODY) return text;
  let end = LONGEST_BODY;
  while (end > LONGEST_BODY - LONGEST_WORD && /[^\s"'<>,;]/.test(text.charAt(end - 1))) end--;
  while (end > LONGEST_BODY - LONGEST_WORD && /[\d\s()+.-]/.test(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

/** The name of a field may be anything that a customer sent, and ends in a log. */
export function shownName(name: string): string {
  const clean = withoutSecrets(name.slice(0, 255)).replace(LIKE_A_NUMBER, HIDDEN);
  return clean === name && !/\p{Cc}/u.test(name) ? name : JSON.stringify(clean);
}

/** A body that was cut short may end in the middle of an echoed key. */
function withoutPartOf(key: string, text: string): string {
  for (let length = Math.min(key.length - 1, text.length); length > 3; length--) {
    if (text.endsWith(key.slice(0, length))) return `${text.slice(0, -length)}${HIDDEN}`;
  }
  return text;
}

/** A secret as it is, and as a service may echo it inside JSON, an address or HTML. */
function spelt(secret: string, shortest = 1): (string | RegExp)[] {
  if (secret.length < shortest) return [];
  if (secret.length > LONGEST_SPELT) return writtenOut(secret);
  let afterBackslashes = false;
  const parts = (secret.match(/\\+|[^\\]/gsu) ?? []).map((part) => {
    const pattern = patternOf(part, afterBackslashes);
    afterBackslashes = part.startsWith('\\');
    return pattern;
  });
  return [new RegExp(parts.join(''), 'giu')];
}

/**
 * Backslashes before a character may be its own or its escape's. No text is read in two ways: with each that is, the time
 * for a text that does not match would double.
 */
function patternOf(part: string, afterBackslashes: boolean): string {
  const { length } = part;
  if (part.startsWith('\\')) return `(?:\\\\{${length},${8 * length + 8}}|(?:${ESCAPE}){${length}})`;
  if (/[\p{L}\p{N}_]/u.test(part)) return part;
  const character = part.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&');
  return afterBackslashes
    ? `(?:${character}|u[\\da-fA-F]{4}|${OTHER_ESCAPE})`
    : `(?:\\\\{0,8}${character}|${ESCAPE})`;
}

/** The usual ways alone. */
function writtenOut(secret: string): string[] {
  const names: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  const html = secret.replace(/[&<>"]/g, (character) => names[character] ?? character);
  const address = encodeURIComponent(secret.replace(/\p{Cs}/gu, '\ufffd'));
  return [secret, JSON.stringify(secret).slice(1, -1), address, html];
}

/** A number comes back in other dress, `024 412 3456` as `+233244123456`: its last nine digits tell it. */
function digitsOf(phone: string): RegExp[] {
  const digits = phone.match(/\p{Nd}/gu) ?? [];
  if (digits.length < 4) return [];
  const between = `(?:${ESCAPE}|[${BETWEEN}]){0,3}`;
  return [new RegExp(`(?:\\+?\\d{1,4}${between})?${digits.slice(-9).join(between)}`, 'g')];
}
