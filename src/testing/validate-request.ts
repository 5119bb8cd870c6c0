import type * as z from 'zod/mini';
import type { chargeMobileMoneyInputSchema, initializeInputSchema } from '../api/input.ts';
import type { Operation, OperationName } from '../api/operations.ts';
import { chargeMobileMoney, initialize, verify } from '../api/operations.ts';
import { parseJson } from '../untrusted.ts';

/** What is wrong with one field of a body. */
export interface FieldFault {
  readonly field: string;
  readonly message: string;
}

/**
 * The service refuses a request.
 *
 * SPEC.md, 7, shows neither status codes nor the shape of an error: both are this mock's assumption, chosen from what
 * services of this kind commonly answer. Rely on the class of the client's error, not on these bodies.
 */
export class HttpRejection extends Error {
  readonly status: number;
  readonly fields: readonly FieldFault[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    message: string,
    more: { fields?: readonly FieldFault[]; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message);
    this.status = status;
    this.fields = more.fields ?? [];
    this.headers = more.headers ?? {};
  }
}

/** The operation that lives at a path. */
export interface Route {
  readonly name: OperationName;
  readonly method: 'GET' | 'POST';
  readonly reference: string;
}

/** A request that passed every rule: what the service is to do. */
export type Command =
  | { operation: 'initialize'; input: z.output<typeof initializeInputSchema> }
  | { operation: 'chargeMobileMoney'; input: z.output<typeof chargeMobileMoneyInputSchema> }
  | { operation: 'verify'; reference: string };

/** Who may do what. */
export interface KeyRules {
  readonly apiKeys: readonly string[];
  /** Refuse a charge with a key of the shape `sk_test_…`. */
  readonly refuseTestCharges: boolean;
}

export interface WireRequest {
  readonly method: string;
  readonly headers: Headers;
  readonly body: string;
}

const places = [initialize, chargeMobileMoney, verify].map(({ name, method, path }) => ({
  name,
  method,
  pattern: new RegExp(`^/${path.replace(':reference', '([^/]+)')}$`),
}));

/** Which operation a path, below the base URL, stands for. */
export function matchRoute(path: string): Route | undefined {
  for (const { name, method, pattern } of places) {
    const match = pattern.exec(path);
    if (match) return { name, method, reference: decoded(match[1] ?? '') };
  }
  return undefined;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/**
 * Holds a request against SPEC.md: path and method (4), key and content type (5), fields and limits (4 and 8).
 *
 * @throws Refusal for the first of these that is broken; all faulty fields are named together.
 */
export function parseRequest(place: Route | undefined, request: WireRequest, keys: KeyRules): Command {
  if (!place) throw new HttpRejection(404, 'There is no such path.');
  if (request.method !== place.method) {
    throw new HttpRejection(405, `Use ${place.method}.`, { headers: { allow: place.method } });
  }
  const apiKey = authenticate(request.headers, keys.apiKeys);
  switch (place.name) {
    case 'initialize':
      return { operation: place.name, input: validateFields(initialize, parseJsonBody(request)) };
    case 'chargeMobileMoney': {
      const input = validateFields(chargeMobileMoney, parseJsonBody(request));
      if (keys.refuseTestCharges && apiKey.startsWith('sk_test_')) {
        throw new HttpRejection(403, 'Charging Mobile Money works in live mode only.');
      }
      return { operation: place.name, input };
    }
    case 'verify':
      return { operation: place.name, reference: place.reference };
  }
}

function authenticate(headers: Headers, apiKeys: readonly string[]): string {
  const authorization = headers.get('authorization');
  const apiKey = apiKeys.find((key) => authorization === `Bearer ${key}`);
  if (apiKey !== undefined) return apiKey;
  const message = authorization === null ? 'There is no API key.' : 'The API key is not valid.';
  throw new HttpRejection(401, message, { headers: { 'www-authenticate': 'Bearer' } });
}

function parseJsonBody({ headers, body }: WireRequest): unknown {
  if (!/^application\/json\s*(?:;|$)/i.test(headers.get('content-type') ?? '')) {
    throw new HttpRejection(415, 'The Content-Type must be application/json.');
  }
  const value = parseJson(body);
  if (value === undefined) throw new HttpRejection(400, 'The body is not JSON.');
  return value;
}

/** The client's own schema decides, but for two things that only the wire knows. */
function validateFields<Input, Request extends object, Result>(
  operation: Operation<Input, Request, Result>,
  body: unknown,
): Request {
  if (typeof body !== 'object' || body === null) {
    throw new HttpRejection(422, 'The body must be a JSON object.');
  }
  // A client refuses a field that it does not know, as a misspelling; a service takes what a newer client may send.
  const known = Object.entries(body).filter(([name]) => Object.hasOwn(operation.input.shape, name));
  const read = operation.input.safeParse(Object.fromEntries(known));
  // A client takes decimal text so that no float need be made; SPEC.md, 4, has a number.
  const isText = 'amount' in body && typeof body.amount === 'string';
  if (read.success && !isText) return read.data;

  const found = read.success
    ? []
    : read.error.issues.map(({ path, message }) => ({ field: path.join('.'), message }));
  const fields = isText
    ? [
        { field: 'amount', message: 'must be a JSON number' },
        ...found.filter(({ field }) => field !== 'amount'),
      ]
    : found;
  const list = fields.map(({ field, message }) => `${field} ${message}`).join('; ');
  throw new HttpRejection(422, `The request is not valid: ${list}.`, { fields });
}
