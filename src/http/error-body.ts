import { referenceSchema } from '../api/input.ts';
import { isKnownStatus } from '../api/transaction.ts';
import type { FieldError } from '../errors.ts';
import { decodeFully } from '../support/decoded-text.ts';
import type { Redact } from '../support/redact.ts';
import { isObject, isRecord } from '../support/untrusted.ts';
import type { ResponseBuffer } from './response.ts';

/**
 * Reads the body of an error response: its message, its field errors, and the transaction that it might name. The shape
 * of an error is not documented (docs/reference/service.md, "Errors"), so the forms that services commonly use are tried.
 */

const MESSAGE_FIELDS = ['message', 'error_description', 'detail', 'error', 'title', 'reason', 'msg'];
const MAX_MESSAGE_LENGTH = 500;
const MAX_MESSAGE_DEPTH = 3;

export function extractMessage(body: unknown): string | undefined {
  const message = findMessage(body) ?? (isPlainText(body) ? body.trim() : undefined);
  return message && message.length > MAX_MESSAGE_LENGTH
    ? `${message.slice(0, MAX_MESSAGE_LENGTH)}…`
    : message || undefined;
}

const isPlainText = (body: unknown): body is string => typeof body === 'string' && !/^\s*[<{[]/.test(body);

function findMessage(value: unknown, depth = 0): string | undefined {
  if (Array.isArray(value)) return typeof value[0] === 'string' ? value[0] : findMessage(value[0], depth);
  if (!isRecord(value) || depth > MAX_MESSAGE_DEPTH) return undefined;
  for (const name of MESSAGE_FIELDS) {
    const inner = value[name];
    const text = typeof inner === 'string' ? inner : findMessage(inner, depth + 1);
    if (text) return text;
  }
  return findMessage(value.errors, depth + 1);
}

const FIELD_LISTS = ['errors', 'error', 'details', 'detail', 'violations', 'issues'];
const FIELD_NAMES = ['field', 'path', 'param', 'loc', 'property', 'name', 'source'];
const MAX_FIELD_ERRORS = 50;

export function extractFieldErrors(body: unknown): FieldError[] {
  if (!isRecord(body)) return parseFieldErrors(body).slice(0, MAX_FIELD_ERRORS);
  for (const name of FIELD_LISTS) {
    const found = parseFieldErrors(body[name]);
    if (found.length > 0) return found.slice(0, MAX_FIELD_ERRORS);
  }
  return isRecord(body.error)
    ? extractFieldErrors({ errors: body.error.errors, details: body.error.details })
    : [];
}

function parseFieldErrors(value: unknown): FieldError[] {
  if (Array.isArray(value)) return value.flatMap(parseFieldError);
  // With a message of its own it is one error, and its other fields are codes and types.
  if (!isRecord(value) || MESSAGE_FIELDS.some((name) => typeof value[name] === 'string')) return [];
  return Object.entries(value).flatMap(([field, entry]) => {
    const message = Array.isArray(entry) ? entry.find((item) => typeof item === 'string') : entry;
    return typeof message === 'string' ? [{ field, message }] : [];
  });
}

function parseFieldError(item: unknown): FieldError[] {
  if (!isRecord(item)) return [];
  const message = findMessage(item);
  const name = FIELD_NAMES.map((field) => item[field]).find((value) => value !== undefined);
  const field = Array.isArray(name) ? name.filter(isPathPart).join('.') : name;
  return message && typeof field === 'string' ? [{ field, message }] : [];
}

const isPathPart = (part: unknown) =>
  typeof part === 'number' || (typeof part === 'string' && part !== 'body');

/**
 * Returns why a response that refuses is no proof that no charge exists, or `undefined` if it is proof. A service that
 * names a transaction might have created it before it refused.
 */
export function rejectionProblem(response: ResponseBuffer, isWhole: boolean): string | undefined {
  if (!isWhole || response.truncated || isCutOff(response)) return 'The response is not complete.';
  if (/TXN-\S/i.test(readableText(response)) || tellsOfTransaction(response.json))
    return 'The response names a transaction.';
  return undefined;
}

/**
 * Whether a body reads as if there were a transaction: it is the envelope of a success, its `data` has a documented status
 * (in any case), or a field `reference` has a value, of whatever form.
 */
function tellsOfTransaction(body: unknown): boolean {
  if (isRecord(body) && isRecord(body.data)) {
    const { status } = body.data;
    if (typeof status === 'string' && (body.status === true || isKnownStatus(status.trim().toLowerCase())))
      return true;
  }
  return listFields(body).some(
    ([name, value]) =>
      /^(?:transaction_?)?reference$/i.test(name) &&
      ((typeof value === 'string' && value !== '') || typeof value === 'number'),
  );
}

/**
 * Whether the body might go on. Runtimes decode an encoded body that was cut off without an error, and a connection that
 * closes ends a body of no stated length. Only JSON shows its own end.
 */
function isCutOff({ headers, text, json }: ResponseBuffer): boolean {
  const encoding = headers.get('content-encoding')?.trim() || 'identity';
  const isEncoded = encoding.toLowerCase() !== 'identity';
  const hasEnd = ['content-length', 'transfer-encoding'].some((name) => headers.get(name) !== null);
  return (isEncoded || (!hasEnd && /^\s*[{[]/.test(text))) && !isObject(json);
}

/**
 * Returns the reference in a response that is not a result: the one in `data.reference`, or else the only one there is.
 * A reference in another case than `TXN-…` is not corrected, because the service might distinguish references by case.
 */
export function extractReference(response: ResponseBuffer, redact: Redact): string | undefined {
  const documented = referenceInData(response.json);
  if (documented !== undefined) return documented;
  const values = listStrings(response.json).filter(isValidReference);
  const [found, ...others] = new Set(
    values.length > 0 ? values : findReferencesInText(readableText(response)),
  );
  // It ends in messages and in the journal, so it must hold no secret.
  return found !== undefined && others.length === 0 && redact(found) === found ? found : undefined;
}

const isValidReference = (text: string) => referenceSchema.safeParse(text).success;

function referenceInData(body: unknown): string | undefined {
  if (!isObject(body) || !('data' in body)) return undefined;
  const { data } = body;
  if (!isObject(data) || !('reference' in data)) return undefined;
  const reference = referenceSchema.safeParse(data.reference);
  return reference.success ? reference.data : undefined;
}

/** Returns every string in a JSON value, and the names of its fields. */
function listStrings(json: unknown): string[] {
  const texts = listFields(json).flat();
  return [json, ...texts].filter((text) => typeof text === 'string');
}

/** Returns every field of a JSON value, at any depth. A loop, because the value can be nested deeply. */
function listFields(json: unknown): [name: string, value: unknown][] {
  const fields: [string, unknown][] = [];
  const open: unknown[] = [json];
  while (open.length > 0) {
    const value = open.pop();
    if (!isObject(value)) continue;
    for (const field of Object.entries(value)) {
      fields.push(field);
      open.push(field[1]);
    }
  }
  return fields;
}

/** How many characters of a body that is not JSON are searched for a reference. */
const MAX_SEARCH_LENGTH = 64 * 1024;

function findReferencesInText(text: string): string[] {
  const mentions = /(?<![\w-])TXN-[\w.~:-]{0,250}\w(?=[.,:;!?]{0,9}(?:[\s"'<>)\]}]|$))/g;
  return (text.slice(0, MAX_SEARCH_LENGTH).match(mentions) ?? []).filter(isValidReference);
}

const REFERENCE_HEADERS = ['location', 'content-location', 'link'];

/** Returns the body and these headers without the escapes of JSON, URLs and HTML. UTF-16 reads as ASCII. */
function readableText({ text, headers }: ResponseBuffer): string {
  const whole = [text, ...REFERENCE_HEADERS.map((name) => headers.get(name) ?? '')].join('\n');
  return decodeFully(whole).replaceAll('\0', '');
}
