/**
 * Redacts text: API keys, phone numbers and email addresses never reach an error, an event or a log line. A secret is
 * found as it is and in any encoding that `decoded-text.ts` reads.
 */

import { type DecodedText, decodeFully, decodeLevels, foldDigits } from './decoded-text.ts';
import { isObject } from './untrusted.ts';

/** Redacts what must never be printed: the keys, and the customer's phone number and email. */
export interface Redact {
  (text: string): string;
  /** Redacts an id that people look for. What only looks like a phone number can be a part of it, and stays. */
  id(text: string): string;
  /** Redacts keys, and the phone number and email of this call only: another email can be a part of an address. */
  secrets(text: string): string;
  /** Redacts the body of a response for an error: as JSON if it is JSON, else as text, shortened. */
  body(body: { text: string; json: unknown }): unknown;
}

/** Returns what redacts for one call: the keys that it can have used, and the phone number and email of its input. */
export function createRedact(apiKeys: readonly string[], phone = '', email = ''): Redact {
  const callSecrets: Find[] = [
    ...apiKeys.flatMap((key) => findSecret(key)),
    findPattern(ANY_KEY),
    ...findSecret(phone, MIN_PERSONAL_CHARS),
    ...findNumber(phone),
    ...findSecret(email, MIN_PERSONAL_CHARS),
  ];
  const secrets = (text: string) => hide(text, callSecrets);
  const id = (text: string) => hide(text, [...callSecrets, findPattern(EMAIL)]);
  const redact = (text: string) => hide(text, [...callSecrets, findPattern(EMAIL), findPhones]);
  const body = ({ text, json }: { text: string; json: unknown }) =>
    json === undefined || text.length > MAX_BODY_CHARS
      ? redact(apiKeys.reduce((rest, key) => redactTruncatedKey(key, rest), truncateAtBoundary(text)))
      : redactJson(json, redact);
  return Object.assign(redact, { id, secrets, body });
}

const REDACTED = '[REDACTED]';
/** A shorter phone number or email would be found in too many other texts. */
const MIN_PERSONAL_CHARS = 4;
const MAX_BODY_CHARS = 16 * 1024;
/** Keys of other calls: one that was just replaced, for example. */
const ANY_KEY = /sk_(?:test|live)_[\w-]+/gi;
const EMAIL = /[^\s@<>"(),:;[\]{}]{1,64}@[^\s@<>"'(),:;[\]{}]{1,255}/gu;

/** Redacts a text of others: it is not known which key can be in it, nor what that key looks like. */
export function redactUnknownSecrets(text: string): string {
  return redactWithoutCall(text).replace(LIKE_A_SECRET, REDACTED);
}

/** The same for people who look for a request: a UUID is its id, and stays. */
export function redactButUuids(text: string): string {
  return redactWithoutCall(text).replace(LIKE_A_SECRET, (word) =>
    word.split(UUIDS).every((rest) => rest.search(LIKE_A_SECRET) === -1) ? word : REDACTED,
  );
}

const UUID = '[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}';
const UUIDS = /* @__PURE__ */ (() => new RegExp(`(?<![\\da-z])${UUID}(?![\\da-z])`, 'gi'))();
const LIKE_A_SECRET = /(?=[^\s"'`]{0,99}\d)(?=[^\s"'`]{0,99}[a-z])[^\s"'`]{16,}/gi;

/**
 * Redacts a reference for messages, events and log lines. People look for it, so digits stay: a customer's number in it
 * cannot be told from a generated one.
 */
export function redactReference(reference: string): string {
  return redactWithoutCall.id(reference);
}

/** Redacts keys `sk_test_…` and `sk_live_…` only. */
export function redactApiKeys(text: string): string {
  return redactWithoutCall.secrets(text);
}

/** Redacts the name of a field: it can be anything that a customer sent. */
export function redactFieldName(name: string): string {
  const redacted = redactUnknownSecrets(name.slice(0, 255)).replace(LIKE_A_NUMBER, REDACTED);
  return redacted === name && !/\p{Cc}/u.test(name) ? name : JSON.stringify(redacted);
}

const LIKE_A_NUMBER = /\d(?:\D{0,2}\d){4,}/g;

// A body.

function redactJson(
  value: unknown,
  redact: (text: string) => string,
  depth = 0,
  isPersonal = false,
): unknown {
  if (!isObject(value)) return redactLeaf(value, redact, isPersonal);
  if (depth === MAX_DEPTH) return '[nested too deep to show]';
  if (Array.isArray(value)) return value.map((item) => redactJson(item, redact, depth + 1, isPersonal));
  const fields = Object.entries(value).map(([name, item]) => [
    redact(name),
    redactJson(item, redact, depth + 1, isPersonal || PERSONAL_FIELD.test(name)),
  ]);
  return Object.fromEntries(fields);
}

function redactLeaf(value: unknown, redact: (text: string) => string, isPersonal: boolean): unknown {
  if (typeof value !== 'string' && typeof value !== 'number') return value;
  const text = String(value);
  const redacted = isPersonal && PERSONAL_VALUE.test(foldDigits(text)) ? REDACTED : redact(text);
  return redacted === text ? value : redacted;
}

const MAX_DEPTH = 16;
const PERSONAL_FIELD = /phone|msisdn|mobile_?number|email/i;
/** An email, or five digits. A text about such a field, `must have 10 digits`, is not personal. */
const PERSONAL_VALUE = /@|(?:\d\D*){5}/;

/** Cuts a text without splitting what is to be redacted: no word, and no number with spaces in it. */
function truncateAtBoundary(text: string): string {
  if (text.length <= MAX_BODY_CHARS) return text;
  let end = MAX_BODY_CHARS;
  while (end > MAX_BODY_CHARS - MAX_WORD_CHARS && /[^\s"'<>,;]/.test(text.charAt(end - 1))) end--;
  while (end > MAX_BODY_CHARS - MAX_WORD_CHARS && /[\d\s()+.-]/.test(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

const MAX_WORD_CHARS = 1024;

/** Redacts the start of an echoed key at the end of a body that was cut short. */
function redactTruncatedKey(key: string, text: string): string {
  for (let length = Math.min(key.length - 1, text.length); length > 3; length--) {
    if (text.endsWith(key.slice(0, length))) return `${text.slice(0, -length)}${REDACTED}`;
  }
  return text;
}

// Where the secrets are.

/** Where something that must not be printed starts and ends. */
type Span = readonly [start: number, end: number];
type Find = (text: string) => Iterable<Span>;

/** Searches the text as it is and as it reads with its escapes decoded, and hides what is found, at its source. */
function hide(source: string, finds: readonly Find[]): string {
  const spans = decodeLevels(source).flatMap((decoded) => findSpans(decoded, finds));
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

function findSpans({ text, startOf, endOf }: DecodedText, finds: readonly Find[]): Span[] {
  const folded = foldDigits(text);
  return finds.flatMap((find) =>
    Array.from(find(folded), ([start, end]): Span => [startOf(start), endOf(end - 1)]),
  );
}

function findPattern(pattern: RegExp): Find {
  return (text) =>
    Array.from(text.matchAll(pattern), ({ 0: found, index }): Span => [index, index + found.length]);
}

/** Finds a secret as it is given, and with what looks like escapes in it decoded, since those in a text are decoded. */
function findSecret(secret: string, minChars = 1): Find[] {
  if (secret.length < minChars) return [];
  const whole = toLowerCase(foldDigits(secret));
  const decoded = toLowerCase(foldDigits(decodeFully(secret)));
  const needles = new Set([whole, decoded.length < minChars ? whole : decoded]);
  return [...needles].map((needle) => (text) => findText(needle, toLowerCase(text)));
}

function* findText(needle: string, text: string): Generator<Span> {
  for (let at = text.indexOf(needle); at !== -1; at = text.indexOf(needle, at + needle.length))
    yield [at, at + needle.length];
}

/** Keeps the length, so that positions stay the same. Half of a surrogate pair cannot be written in an address. */
function toLowerCase(text: string): string {
  const whole = text.replace(/\p{Cs}/gu, '\ufffd');
  const lower = whole.toLowerCase();
  return lower.length === whole.length ? lower : whole.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Finds a phone number in another form, `024 412 3456` as `+233244123456`, by its last nine digits. */
function findNumber(phone: string): Find[] {
  const digits = foldDigits(phone).match(/\d/g)?.slice(-9) ?? [];
  if (digits.length < MIN_PERSONAL_CHARS) return [];
  const number = digits.join(`${BETWEEN}*`);
  let find: Find | undefined;
  // Most keys have fewer digits, and the expression takes longer to compile than all else.
  return [
    (text) => {
      if (text.replace(/\D/g, '').length < digits.length) return [];
      find ??= findPattern(new RegExp(`(?:\\+?\\d{1,4}${BETWEEN}{0,3})?${number}`, 'g'));
      return find(text);
    },
  ];
}

/**
 * What can separate the digits of a known number: ASCII, Latin-1 and Unicode punctuation and spaces. It lists ranges,
 * because "everything but letters" takes a second to compile thirty times over, for each new number.
 */
const BETWEEN = '[\\0-/:-@[-`{-\\xbf\\u2000-\\u206f\\u2212\\u3000-\\u303f\\ufe00-\\ufe6f\\ufeff-\\uff0f]';

function findPhones(text: string): Span[] {
  return Array.from(text.matchAll(PHONE_LIKE)).flatMap(({ groups, index }): Span[] => {
    const { length } = groups?.phone ?? '';
    return length > 0 ? [[index, index + length]] : [];
  });
}

/** What can separate the digits of a number that is not known. */
const GAP = '[ \\t\\xa0\\u2000-\\u2015\\u2212().\\/-]{0,4}';
const DAY = '(?:0?[1-9]|[12]\\d|3[01])';
const YEAR = '(?:19|20)\\d\\d';
/**
 * Digits that are no phone number: a UUID, a reference, a date. Only a date that exists and that no group of digits follows
 * counts: `0241-20-31-56` is a phone number. An IPv4 address that begins as a phone number does, such as `0.241.123.156`,
 * cannot be told from one.
 */
const NO_PHONE = /* @__PURE__ */ (() =>
  `${UUID}|TXN-[^\\s"'<>,;]{1,251}|` +
  `${YEAR}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])(?!-?\\d)|${DAY}([-\\/.])${DAY}\\1${YEAR}(?!\\d|\\1\\d)`)();
/** +233 24 412 3456, 00233 24 412 3456, 024 412 3456 and 233244123456, and any number after a word such as `phone`. */
const PHONE_FORMS = /* @__PURE__ */ (() => [
  `\\+ ?[1-9](?:${GAP}\\d){7,14}`,
  `(?<![\\w-]|\\d\\.)(?:\\(0|00(?=[1-9])|0(?!0|\\.\\d+(?!\\.?\\d)))(?:${GAP}\\d){8,13}`,
  `(?<![\\w-]|\\d\\.)\\(?233${GAP}(?:\\(?0\\)?${GAP})?[235](?:${GAP}\\d){8}`,
  `(?<=\\b(?:phone|mobile|msisdn|momo|telephone|tel\\.?|subscriber|payer|wallet|number|sms|whatsapp)(?:[ _-]?(?:number|no\\.?))?["']?\\s{0,3}[:=#]?\\s{0,3}["'(]?)\\d(?:${GAP}\\d){6,14}`,
])();
const PHONE_LIKE = /* @__PURE__ */ (() =>
  new RegExp(`${NO_PHONE}|(?<phone>${PHONE_FORMS.join('|')})(?![\\da-z_]|[.,]\\d)`, 'gi'))();

/** For texts that belong to no call. It stands last because it uses everything above. */
const redactWithoutCall = /* @__PURE__ */ createRedact([]);
