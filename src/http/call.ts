import type * as z from 'zod/mini';
import { expectationSchema } from '../api/input.ts';
import type { Operation, OperationName } from '../api/operations.ts';
import { type AnyTransaction, ConfigurationError, type InputIssue, InvalidInputError } from '../errors.ts';
import type { ResolvedOptions, ResolvedRequestOptions, UnkeyedOptions } from '../options.ts';
import { resolveRequestOptions } from '../resolve-options.ts';
import { findNearestName, isPlainName } from '../unknown-option.ts';
import { refuseOldRuntime } from './transport.ts';

/** A call that has passed every check, ready to be tried. */
export interface Call<Input, Request extends object, Result> extends ResolvedRequestOptions {
  operation: Operation<Input, Request, Result>;
  request: Request;
  body: string | undefined;
  /** The call's key as it may be printed, if it has one. */
  idempotencyKey?: string | undefined;
  /** The API key of the first attempt, if the call has asked for it already. */
  apiKey?: string | undefined;
  /** Called before each request leaves, with what it carries; if it throws, nothing is sent. */
  beforeSending?: ((sending: { apiKey: string; requestId: string }) => void) | undefined;
}

/**
 * Checks everything about a call before anything of it is sent.
 *
 * @throws InvalidInputError, ConfigurationError
 */
export function prepareCall<Input, Request extends object, Result extends AnyTransaction>(
  client: ResolvedOptions,
  operation: Operation<Input, Request, Result>,
  input: Input,
  { extraBody, ...options }: UnkeyedOptions,
): Call<Input, Request, Result> {
  if (operation.method === 'GET' && extraBody !== undefined) {
    throw new ConfigurationError('A read has no body: it takes no extraBody.', { operation: operation.name });
  }
  if (operation.method === 'POST' && !client.transport) refuseOldRuntime(operation.name);
  const request = validateInput(operation, input);
  const body = operation.method === 'POST' ? buildBody(operation, request, extraBody) : undefined;
  return { operation, request, body, ...resolveRequestOptions(options, client, operation.name) };
}

/** What the caller gave, checked and made ready to send; all its faults are reported together. */
export function validateInput<Input, Request extends object, Result>(
  operation: Operation<Input, Request, Result>,
  input: Input,
): Request {
  const read = operation.input.safeParse(input);
  if (read.success) return read.data;
  const fields = Object.keys(operation.input.shape);
  throw new InvalidInputError(
    read.error.issues.flatMap((issue) => inputIssues(issue, fields)),
    operation.name,
  );
}

function inputIssues(issue: z.core.$ZodIssue, fields: readonly string[]): InputIssue[] {
  if (issue.code === 'unrecognized_keys') {
    const known = issue.path.length === 0 ? fields : EXPECTED_FIELDS;
    const named = issue.keys.slice(0, MAX_UNKNOWN_FIELDS).map((key) => unknownField(issue.path, key, known));
    const more = issue.keys.length - named.length;
    const others = {
      path: '',
      message: `${more} more fields are none of this operation`,
      code: 'unknown_field',
    };
    return more > 0 ? [...named, others] : named;
  }
  const path = issue.path.join('.');
  if (issue.code === 'custom')
    return [{ path, message: issue.message, code: String(issue.params?.code ?? 'invalid') }];
  const message =
    path === '' ? 'the input must be an object with the fields of this operation' : issue.message;
  return [{ path, message, code: issue.code === 'invalid_union' ? 'invalid_type' : issue.code }];
}

/** A caller may have put a key or a phone number where the name of a field should be. */
function unknownField(path: readonly PropertyKey[], key: string, known: readonly string[]): InputIssue {
  const nearest = findNearestName(key, known);
  const shown = nearest !== undefined || isPlainName(key) ? key : '[REDACTED]';
  return {
    path: [...path, shown].join('.'),
    message:
      nearest === undefined
        ? 'is not a field of this operation: check the spelling, or use extraBody'
        : `is not a field of this operation: did you mean ${nearest}?`,
    code: 'unknown_field',
  };
}

const EXPECTED_FIELDS = Object.keys(expectationSchema.shape);
const MAX_UNKNOWN_FIELDS = 20;

/** The JSON text of a POST, written once and sent unchanged with each try. */
function buildBody(
  operation: { name: OperationName; input: { shape: object } },
  request: object,
  extraBody: Readonly<Record<string, unknown>> = {},
): string {
  const fault = (path: string, message: string) => {
    throw new InvalidInputError([{ path, message, code: 'extra_body' }], operation.name);
  };
  if (typeof extraBody !== 'object' || extraBody === null || Array.isArray(extraBody))
    fault('extraBody', 'must be an object');
  // Read once: what was checked is what is sent.
  const extra = { ...extraBody };
  for (const [name, value] of Object.entries(extra)) {
    if (Object.hasOwn(operation.input.shape, name))
      fault(`extraBody.${name}`, 'is a field of the input: give it there');
    if (name === 'toJSON' && typeof value === 'function')
      fault('extraBody.toJSON', 'must not be a function: it would stand in for the whole body');
  }
  try {
    return JSON.stringify({ ...extra, ...request });
  } catch {
    return fault('extraBody', 'cannot be written as JSON');
  }
}

/** A field of a request, where it has one of that name. */
export function stringField(request: object, name: string): string | undefined {
  const field: unknown = Object.getOwnPropertyDescriptor(request, name)?.value;
  return typeof field === 'string' ? field : undefined;
}

/** The path below the base URL. A reference has passed its schema, so it cannot leave its place in the path. */
export function buildPath(operation: { path: string }, reference: string | undefined): string {
  return operation.path.replace(':reference', encodeURIComponent(reference ?? ''));
}
