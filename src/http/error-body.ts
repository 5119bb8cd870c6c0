import { referenceSchema } from '../api/input.ts';
import type { FieldError } from '../errors.ts';
import type { Redact } from '../redact.ts';
import type { AnswerHeaders, ResponseBuffer } from './response.ts';

/** SPEC.md, 7: the shape of an error is not shown. These are the forms that services commonly use. */
const MESSAGE_FIELDS = ['message', 'error_description', 'detail', 'error', 'title', 'reason', 'msg'];
const FIELD_LISTS = ['errors', 'error', 'details', 'detail', 'violations', 'issues'];
const FIELD_NAMES = ['field', 'path', 'param', 'loc', 'property', 'name', 'source'];
const MAX_MESSAGE = 500;
const MAX_FIELD_ERRORS = 50;

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The service's own words in an error body of any form, if there are any. */
export function extractMessage(body: unknown): string | undefined {
  const found = messageIn(body) ?? (isPlainText(body) ? body.trim() : undefined);
  return found && found.length > MAX_MESSAGE ? `${found.slice(0, MAX_MESSAGE)}…` : found || undefined;
}

const isPlainText = (body: unknown): body is string => typeof body === 'string' && !/^\s*[<{[]/.test(body);

function messageIn(value: unknown, depth = 0): string | undefined {
  if (Array.isArray(value)) return typeof value[0] === 'string' ? value[0] : messageIn(value[0], depth);
  if (!isObject(value) || depth > 3) return undefined;
  for (const name of MESSAGE_FIELDS) {
    const inner = value[name];
    const text = typeof inner === 'string' ? inner : messageIn(inner, depth + 1);
    if (text) return text;
  }
  return messageIn(value.errors, depth + 1);
}

/** What an error body says about single fields, if it does. */
export function extractFieldErrors(body: unknown): FieldError[] {
  if (!isObject(body)) return parseFieldErrors(body).slice(0, MAX_FIELD_ERRORS);
  for (const name of FIELD_LISTS) {
    const found = parseFieldErrors(body[name]);
    if (found.length > 0) return found.slice(0, MAX_FIELD_ERRORS);
  }
  return isObject(body.error)
    ? extractFieldErrors({ errors: body.error.errors, details: body.error.details })
    : [];
}

function parseFieldErrors(value: unknown): FieldError[] {
  if (Array.isArray(value)) return value.flatMap(parseFieldError);
  // With a message of its own it is one error, and its other fields are codes and types.
  if (!isObject(value) || MESSAGE_FIELDS.some((name) => typeof value[name] === 'string')) return [];
  return Object.entries(value).flatMap(([field, said]) => {
    const message = Array.isArray(said) ? said.find((item) => typeof item === 'string') : said;
    return typeof message === 'string' ? [{ field, message }] : [];
  });
}

function parseFieldError(item: unknown): FieldError[] {
  if (!isObject(item)) return [];
  const message = messageIn(item);
  const name = FIELD_NAMES.map((field) => item[field]).find((value) => value !== undefined);
  const field = Array.isArray(name) ? name.filter(isPathPart).join('.') : name;
  return message && typeof field === 'string' ? [{ field, message }] : [];
}

const isPathPart = (part: unknown) =>
  typeof part === 'number' || (typeof part === 'string' && part !== 'body');

const REQUEST_ID_HEADERS = ['x-request-id', 'request-id', 'x-correlation-id', 'x-amzn-requestid', 'cf-ray'];

/** The id under which the service's logs know a request, where it says one. */
export function extractRequestId(
  headers: AnswerHeaders,
  facts: { readonly redact: Redact },
): string | undefined {
  const found = REQUEST_ID_HEADERS.map((name) => headers.get(name)).find(Boolean);
  return found ? facts.redact.id(found).slice(0, 200) : undefined;
}

/** Headers that can name a transaction, besides the body. */
const NAMING_HEADERS = ['location', 'content-location', 'link'];

/** A reference is looked for in no more than this of a body that is not JSON. */
const LONGEST_SEARCHED = 64 * 1024;

/**
 * Why a response that refuses is no proof that no charge exists, or `undefined` if it is one. A service that names a
 * transaction may have made it before it refused.
 */
export function rejectionProblem(received: ResponseBuffer, isWhole: boolean): string | undefined {
  if (!isWhole || received.truncated) return 'The response is not whole.';
  if (isStillPacked(received)) return 'The response cannot be read.';
  if (/TXN-\S/i.test(readable(received))) return 'The response names a transaction.';
  return undefined;
}

/**
 * The reference in a response that is no result: the one of SPEC.md's place, or else the only one there is. One in other
 * letters than `TXN-…` is not put right: the service might tell references apart by case.
 */
export function extractReference(received: ResponseBuffer, redact: Redact): string | undefined {
  const inPlace = referenceInData(received.json);
  if (inPlace !== undefined) return inPlace;
  const values = textsOf(received.json).filter((text) => referenceSchema.safeParse(text).success);
  const [found, ...others] = new Set(values.length > 0 ? values : mentionedIn(readable(received)));
  // Whatever the service wrote there ends in messages and in the journal.
  return found !== undefined && others.length === 0 && redact(found) === found ? found : undefined;
}

function referenceInData(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('data' in body)) return undefined;
  const { data } = body;
  if (typeof data !== 'object' || data === null || !('reference' in data)) return undefined;
  const reference = referenceSchema.safeParse(data.reference);
  return reference.success ? reference.data : undefined;
}

/** Every text in a JSON value, names of fields too. Nested as deep as it likes. */
function textsOf(json: unknown): string[] {
  const texts: string[] = [];
  const open: unknown[] = [json];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === 'string') texts.push(value);
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, item] of Object.entries(value)) open.push(name, item);
  }
  return texts;
}

function mentionedIn(text: string): string[] {
  const mentions = /(?<![\w-])TXN-[\w.~:-]{0,250}\w(?=[.,:;!?]{0,9}(?:[\s"'<>)\]}]|$))/g;
  return (text.slice(0, LONGEST_SEARCHED).match(mentions) ?? []).filter(
    (text) => referenceSchema.safeParse(text).success,
  );
}

/** A content coding that was not unpacked: its bytes are no text. */
function isStillPacked({ headers, text }: ResponseBuffer): boolean {
  const coding = headers.get('content-encoding')?.trim() || 'identity';
  return coding.toLowerCase() !== 'identity' && text.includes('\ufffd');
}

const ESCAPED = /\\u([\da-f]{4})|\\x([\da-f]{2})|%([\da-f]{2})|&#x([\da-f]{1,6});?|&#(\d{1,7});?/gi;

/** Body and headers without the escapes of JSON, addresses and HTML, which may lie in one another; UTF-16 as ASCII. */
function readable({ text, headers }: ResponseBuffer): string {
  const whole = [text, ...NAMING_HEADERS.map((name) => headers.get(name) ?? '')].join('\n');
  return unescaped(unescaped(whole)).replaceAll(/[\\\0]/g, '');
}

function unescaped(text: string): string {
  return text.replaceAll(ESCAPED, (written, ...groups: (string | undefined)[]) => {
    const [json, script, address, hexadecimal, decimal] = groups;
    const digits = json ?? script ?? address ?? hexadecimal;
    const code = digits === undefined ? Number(decimal) : Number.parseInt(digits, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : written;
  });
}
