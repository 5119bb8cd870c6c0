import type * as z from 'zod/mini';
import type { chargeMobileMoneyInputSchema, initializeInputSchema } from '../../api/input.ts';
import type { Operation, OperationName } from '../../api/operations.ts';
import { chargeMobileMoney, initialize, verify } from '../../api/operations.ts';
import { isObject, orUndefined, parseJson } from '../../support/untrusted.ts';
import type { KeyMode } from './ledger.ts';

/** The operation at a path, with the reference that the path names. */
export interface Route {
  readonly name: OperationName;
  readonly method: 'GET' | 'POST';
  /** Empty for a POST. */
  readonly reference: string;
}

export interface WireRequest {
  readonly method: string;
  readonly headers: Headers;
  readonly body: string;
}

export interface AcceptedKeys {
  readonly apiKeys: readonly string[];
  /** Charges Mobile Money with a key of the shape `sk_test_…` too. */
  readonly allowTestCharges: boolean;
}

/** A valid request: what the service has to do. `mode` is that of its key. */
export type Command =
  | {
      operation: 'initialize';
      mode: KeyMode;
      input: z.output<typeof initializeInputSchema>;
      returnUrl: string | undefined;
    }
  | { operation: 'chargeMobileMoney'; mode: KeyMode; input: z.output<typeof chargeMobileMoneyInputSchema> }
  | { operation: 'verify'; mode: KeyMode; reference: string };

/** A field of an `initialize` that only the sandbox has: where its checkout page leads back to. */
const RETURN_URL_FIELD = 'sandbox_return_url';

/** What is wrong with one field of a body. */
export interface RejectedField {
  readonly field: string;
  readonly message: string;
}

/**
 * The service rejects a request.
 *
 * The service documents neither status codes nor the shape of an error. Both are assumptions of this mock, chosen from
 * what similar services do (docs/reference/service.md, "Errors"). Rely on the class of the client's error instead.
 */
export class HttpRejection extends Error {
  readonly status: number;
  readonly fields: readonly RejectedField[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    message: string,
    more: { fields?: readonly RejectedField[]; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message);
    this.status = status;
    this.fields = more.fields ?? [];
    this.headers = more.headers ?? {};
  }
}

const patterns = [initialize, chargeMobileMoney, verify].map(({ name, method, path }) => ({
  name,
  method,
  pattern: new RegExp(`^/${path.replace(':reference', '([^/]+)')}$`),
}));

/** Finds the operation at a path below the base URL. */
export function matchRoute(path: string): Route | undefined {
  for (const { name, method, pattern } of patterns) {
    const match = pattern.exec(path);
    if (!match) continue;
    const [, segment = ''] = match;
    return { name, method, reference: orUndefined(() => decodeURIComponent(segment)) ?? segment };
  }
  return undefined;
}

/**
 * Validates a request in this order: path, method, key, content type, JSON, fields, and the mode of the key.
 *
 * @throws {HttpRejection} if a rule is broken. It is for the first such rule, and names all invalid fields together.
 */
export function parseRequest(route: Route | undefined, request: WireRequest, keys: AcceptedKeys): Command {
  if (!route) throw new HttpRejection(404, 'There is no such path.');
  if (request.method !== route.method) {
    throw new HttpRejection(405, `Use ${route.method}.`, { headers: { allow: route.method } });
  }
  const mode = authenticate(request.headers, keys.apiKeys);
  switch (route.name) {
    case 'initialize': {
      const body = parseJsonBody(request);
      const input = validateFields(initialize, body);
      return { operation: route.name, mode, input, returnUrl: readReturnUrl(body) };
    }
    case 'chargeMobileMoney': {
      const input = validateFields(chargeMobileMoney, parseJsonBody(request));
      if (mode === 'test' && !keys.allowTestCharges) {
        throw new HttpRejection(403, 'Charging Mobile Money works in live mode only.');
      }
      return { operation: route.name, mode, input };
    }
    case 'verify':
      return { operation: route.name, mode, reference: route.reference };
  }
}

/** Finds the mode of a request's key. `null` if the key is missing or not valid. */
export function findKeyMode(headers: Headers, apiKeys: readonly string[]): KeyMode | null {
  const authorization = headers.get('authorization');
  const apiKey = apiKeys.find((key) => authorization === `Bearer ${key}`);
  return apiKey === undefined ? null : detectKeyMode(apiKey);
}

/** Returns the mode of a key: docs/reference/service.md, "Authentication". That any other key is live is an assumption. */
export function detectKeyMode(apiKey: string): KeyMode {
  return /^sk_test_./.test(apiKey) ? 'test' : 'live';
}

function authenticate(headers: Headers, apiKeys: readonly string[]): KeyMode {
  const mode = findKeyMode(headers, apiKeys);
  if (mode) return mode;
  const message = headers.has('authorization') ? 'The API key is not valid.' : 'There is no API key.';
  throw new HttpRejection(401, message, { headers: { 'www-authenticate': 'Bearer' } });
}

/** Whether a browser can be led to it without harm. `javascript:` and `data:` are no such addresses. */
export function isHttpAddress(value: unknown): value is string {
  return typeof value === 'string' && /^https?:/i.test(value) && URL.canParse(value);
}

function readReturnUrl(body: unknown): string | undefined {
  if (!isObject(body) || !(RETURN_URL_FIELD in body)) return undefined;
  const url = body[RETURN_URL_FIELD];
  if (isHttpAddress(url)) return url;
  const field = { field: RETURN_URL_FIELD, message: 'must be an http or https address' };
  throw new HttpRejection(422, `The request is not valid: ${field.field} ${field.message}.`, {
    fields: [field],
  });
}

export function isJsonType(contentType: string | null | undefined): boolean {
  return /^application\/json\s*(?:;|$)/i.test(contentType ?? '');
}

function parseJsonBody({ headers, body }: WireRequest): unknown {
  if (!isJsonType(headers.get('content-type'))) {
    throw new HttpRejection(415, 'The Content-Type must be application/json.');
  }
  // JSON has no `undefined`: the body could not be parsed.
  const parsed: unknown = parseJson(body);
  if (parsed === undefined) throw new HttpRejection(400, 'The body is not JSON.');
  return parsed;
}

/** Validates with the client's own schema. Two rules differ, because only the wire has them. */
function validateFields<Input, Request extends object, Result>(
  operation: Operation<Input, Request, Result>,
  body: unknown,
): Request {
  if (typeof body !== 'object' || body === null) {
    throw new HttpRejection(422, 'The body must be a JSON object.');
  }
  // The client refuses an unknown field as a misspelling. A service accepts what a newer client might send.
  const known = Object.entries(body).filter(([name]) => Object.hasOwn(operation.input.shape, name));
  const read = operation.input.safeParse(Object.fromEntries(known));
  // The client also accepts decimal text, so that no float is needed. On the wire an amount is a number.
  const isTextAmount = 'amount' in body && typeof body.amount === 'string';
  if (read.success && !isTextAmount) return read.data;

  const invalid = read.success
    ? []
    : read.error.issues.map(({ path, message }) => ({ field: path.join('.'), message }));
  const fields = isTextAmount
    ? [
        { field: 'amount', message: 'must be a JSON number' },
        ...invalid.filter(({ field }) => field !== 'amount'),
      ]
    : invalid;
  const list = fields.map(({ field, message }) => `${field} ${message}`).join('; ');
  throw new HttpRejection(422, `The request is not valid: ${list}.`, { fields });
}
