import type * as z from 'zod/mini';
import { expectationSchema } from '../api/input.ts';
import type { Operation } from '../api/operations.ts';
import { type AnyTransaction, type InputIssue, InvalidInputError } from '../errors.ts';
import {
  type NormalizedOptions,
  type NormalizedRequestOptions,
  normalizeRequestOptions,
  type UnkeyedOptions,
} from '../options.ts';
import { findNearestName, isPlainName } from '../support/unknown-option.ts';
import { isRecord } from '../support/untrusted.ts';
import type { SendLease } from './gate.ts';
import { refuseOldRuntime } from './transport.ts';

/** A call that has passed every check: what to send, and how. */
export interface Call<Input, Request extends object, Result> extends NormalizedRequestOptions {
  operation: Operation<Input, Request, Result>;
  request: Request;
  /** JSON text, or `undefined` for a GET. */
  body: string | undefined;
  /** What `body` is the text of. */
  fields?: object | undefined;
  lease?: SendLease | undefined;
}

/**
 * Checks the input of a call before anything of it is sent. Its options were checked before.
 *
 * @throws {InvalidInputError} if the input or `extraBody` breaks a rule.
 * @throws {ConfigurationError} if this runtime might send a POST twice.
 */
export function prepareCall<Input, Request extends object, Result extends AnyTransaction>(
  client: Omit<NormalizedOptions, 'apiKey'>,
  operation: Operation<Input, Request, Result>,
  input: Input,
  options: UnkeyedOptions,
): Call<Input, Request, Result> {
  if (operation.method === 'POST' && !client.transport) refuseOldRuntime(operation.name);
  const request = validateInput(operation, input, client.maxAmount);
  const sent = operation.method === 'POST' ? buildBody(operation, request, options.extraBody) : undefined;
  const { signal, timeout, maxRetries, headers } = normalizeRequestOptions(options, client);
  return { operation, request, body: sent?.body, fields: sent?.fields, signal, timeout, maxRetries, headers };
}

/**
 * Returns the caller's input as it is sent.
 *
 * @param maxAmount the largest amount that is sent.
 * @throws {InvalidInputError} if the input breaks a rule. It names every issue at once.
 */
export function validateInput<Input, Request extends object, Result>(
  operation: Operation<Input, Request, Result>,
  input: Input,
  maxAmount = Number.POSITIVE_INFINITY,
): Request {
  const parsed = operation.input.safeParse(input);
  const fields = Object.keys(operation.input.shape);
  const issues = parsed.success ? [] : parsed.error.issues.flatMap((issue) => toInputIssues(issue, fields));
  const given: unknown = parsed.success ? parsed.data : input;
  const isAmountValid = isRecord(given) && !issues.some(({ path }) => path === 'amount');
  if (isAmountValid && Number(given.amount) > maxAmount) {
    const message = `must be at most ${maxAmount}, the client's maxAmount: amounts are in main units, 25.50 and not 2550`;
    issues.push({ path: 'amount', message, code: 'too_large' });
  }
  if (parsed.success && issues.length === 0) return parsed.data;
  throw new InvalidInputError(issues, operation.name);
}

const EXPECTED_FIELDS = Object.keys(expectationSchema.shape);
const MAX_UNKNOWN_FIELDS = 20;

function toInputIssues(issue: z.core.$ZodIssue, fields: readonly string[]): InputIssue[] {
  if (issue.code === 'unrecognized_keys') {
    const known = issue.path.length === 0 ? fields : EXPECTED_FIELDS;
    const shown = issue.keys
      .slice(0, MAX_UNKNOWN_FIELDS)
      .map((key) => unknownFieldIssue(issue.path, key, known));
    const hidden = issue.keys.length - shown.length;
    const rest = {
      path: '',
      message: `${hidden} more fields are not fields of this operation`,
      code: 'unknown_field',
    };
    return hidden > 0 ? [...shown, rest] : shown;
  }
  const path = issue.path.join('.');
  if (issue.code === 'custom')
    return [{ path, message: issue.message, code: String(issue.params?.code ?? 'invalid') }];
  const message =
    path === '' ? 'the input must be an object with the fields of this operation' : issue.message;
  return [{ path, message, code: issue.code === 'invalid_union' ? 'invalid_type' : issue.code }];
}

/** A caller might have put a key or a phone number in place of a field's name. */
function unknownFieldIssue(path: readonly PropertyKey[], key: string, known: readonly string[]): InputIssue {
  const nearest = findNearestName(key, known);
  const shown = nearest !== undefined || isPlainName(key) ? key : '[REDACTED]';
  return {
    path: [...path, shown].join('.'),
    message:
      nearest === undefined
        ? 'is not a field of this operation: check the spelling, or use extraBody'
        : `is not a field of this operation (did you mean ${nearest}?)`,
    code: 'unknown_field',
  };
}

/** Returns the JSON text of a POST. It is written once and sent unchanged with each attempt. */
function buildBody<Input, Request extends object, Result>(
  { name: operation, input }: Operation<Input, Request, Result>,
  request: object,
  extraBody: Readonly<Record<string, unknown>> = {},
): { body: string; fields: object } {
  const refuse = (path: string, message: string) => {
    throw new InvalidInputError([{ path, message, code: 'extra_body' }], operation);
  };
  if (!isRecord(extraBody)) refuse('extraBody', 'must be an object');
  // Read once, so that what was checked is what is sent.
  const extra = { ...extraBody };
  for (const [name, value] of Object.entries(extra)) {
    if (Object.hasOwn(input.shape, name))
      refuse(`extraBody.${name}`, 'is a field of the input: give it there');
    if (name === 'toJSON' && typeof value === 'function')
      refuse('extraBody.toJSON', 'must not be a function: its result would replace the whole body');
  }
  const fields = { ...extra, ...request };
  try {
    return { body: JSON.stringify(fields), fields };
  } catch {
    return refuse('extraBody', 'cannot be written as JSON');
  }
}
