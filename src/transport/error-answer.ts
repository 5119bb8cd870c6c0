import type { FieldError } from '../api-errors.ts';
import type { Redact } from '../redact.ts';
import type { AnswerHeaders } from './received.ts';

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
