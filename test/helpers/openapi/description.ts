import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { parse } from 'yaml';
import * as z from 'zod';
import { isRecord, orUndefined, parseJson } from '../../../src/support/untrusted.ts';
import { applyMergePatch } from './merge-patch.ts';

/** A request as it is on the wire. */
export interface DescribedRequest {
  readonly method: string;
  /** Below the base URL, with the query. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
}

/** A response as it is on the wire. */
export interface DescribedResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

const parameterSchema = z.object({
  name: z.string(),
  in: z.enum(['path', 'header']),
  required: z.literal(true),
});
const contentSchema = z.optional(z.record(z.string(), z.looseObject({ schema: z.unknown() })));
const operationSchema = z.object({
  operationId: z.string(),
  parameters: z.optional(z.array(parameterSchema)),
  requestBody: z.optional(z.object({ required: z.literal(true), content: contentSchema })),
  responses: z.record(z.string(), z.unknown()),
});
const responseSchema = z.object({
  headers: z.optional(z.record(z.string(), z.object({ required: z.literal(true) }))),
  content: contentSchema,
});
const documentSchema = z.looseObject({
  security: z.tuple([z.record(z.string(), z.tuple([]))]),
  paths: z.record(
    z.string(),
    z.object({
      parameters: z.optional(z.array(parameterSchema)),
      get: z.optional(operationSchema),
      post: z.optional(operationSchema),
    }),
  ),
  components: z.looseObject({
    securitySchemes: z.record(z.string(), z.object({ type: z.literal('http'), scheme: z.literal('bearer') })),
  }),
});

/** Where something is in a document: the names on the way to it. */
type Pointer = readonly string[];

/** An operation of a description, and where its parts are. */
interface FoundOperation {
  readonly at: Pointer;
  readonly operation: z.output<typeof operationSchema>;
  readonly parameters: readonly {
    readonly at: Pointer;
    readonly parameter: z.output<typeof parameterSchema>;
  }[];
  /** The parameters of the path, decoded. */
  readonly segments: Readonly<Record<string, string>>;
}

/** An OpenAPI description, as a judge of requests and responses. It reads only what the two descriptions here use. */
export class ServiceDescription {
  readonly document: unknown;
  readonly #document: z.output<typeof documentSchema>;
  readonly #ajv = new Ajv2020({ allErrors: true, strict: true });
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor(document: unknown) {
    this.document = document;
    this.#document = documentSchema.parse(document);
    formats.default(this.#ajv);
    // An address with characters of any script. What else is valid in one is not a matter of this description.
    this.#ajv.addFormat('idn-email', /^[^\s@]+@[^\s@]+$/u);
    // What stands around the schemas. It is checked as OpenAPI, and ajv passes it by.
    this.#ajv.addVocabulary(Object.keys(this.#document));
    this.#ajv.addSchema(this.#document, 'description');
  }

  /** Lists what is wrong with a request. It names no value. */
  findRequestIssues(request: DescribedRequest): string[] {
    const { method, headers } = request;
    const { pathname, search } = splitPath(request.path);
    const found = this.#findOperation(method, pathname);
    if (!found) return [`${method} is not described at this path`];
    const { operation, at } = found;
    const issues = search === '' ? [] : ['the query is not described'];
    // RFC 3986, section 3.3.
    if (!/^(?:[\w.~!$&'()*+,;=:@/-]|%[\dA-F]{2})*$/i.test(pathname)) issues.push('the path is not encoded');
    if (!/^Bearer [!-~]+$/.test(headers.get('authorization') ?? '')) issues.push('there is no bearer token');
    for (const { at, parameter } of found.parameters) {
      const { name } = parameter;
      const value = parameter.in === 'path' ? found.segments[name] : headers.get(name);
      if (value === undefined || value === null) issues.push(`the ${parameter.in} has no ${name}`);
      else issues.push(...this.#findIssues([...at, 'schema'], value, name));
    }
    if (operation.requestBody) {
      const inside = [...at, 'requestBody'];
      issues.push(...this.#findContentIssues(inside, operation.requestBody.content, request, 'the request'));
    } else if (request.body !== '') {
      issues.push('the request has a body');
    }
    return issues;
  }

  /** Whether an operation has this method and path. */
  hasOperation({ method, path }: Pick<DescribedRequest, 'method' | 'path'>): boolean {
    return this.#findOperation(method, splitPath(path).pathname) !== undefined;
  }

  /** Lists what is wrong with the response to a request. */
  findResponseIssues(
    request: Pick<DescribedRequest, 'method' | 'path'>,
    response: DescribedResponse,
  ): string[] {
    const { method } = request;
    const found = this.#findOperation(method, splitPath(request.path).pathname);
    if (!found) return [`${method} is not described at this path`];
    const status = String(response.status);
    if (!Object.hasOwn(found.operation.responses, status)) return [`${status} is not described`];
    const { at, node } = this.#follow([...found.at, 'responses', status]);
    const { content, headers = {} } = responseSchema.parse(node);
    const issues = this.#findContentIssues(at, content, response, 'the response');
    for (const name of Object.keys(headers)) {
      const value = response.headers.get(name);
      if (value === null) issues.push(`the response has no header ${name}`);
      else issues.push(...this.#findIssues([...at, 'headers', name, 'schema'], value, name));
    }
    return issues;
  }

  /** Lists what is wrong with a value, by a schema of the components. */
  findSchemaIssues(name: string, value: unknown): string[] {
    return this.#findIssues(['components', 'schemas', name], value, name);
  }

  /** Returns what is at a pointer, or `undefined`. References on the way are followed. */
  get(...pointer: Pointer): unknown {
    let at: Pointer = [];
    for (const name of pointer) at = this.#follow([...at, name]).at;
    return at.reduce(step, this.document);
  }

  #findOperation(method: string, pathname: string): FoundOperation | undefined {
    for (const [template, item] of Object.entries(this.#document.paths)) {
      const segments = matchTemplate(template, pathname);
      const name = method === 'GET' ? 'get' : method === 'POST' ? 'post' : undefined;
      const operation = name && item[name];
      if (!segments || !operation) continue;
      const at = ['paths', template, name];
      const locate = (list: typeof item.parameters = [], ...inside: Pointer) =>
        list.map((parameter, index) => ({ at: [...inside, 'parameters', String(index)], parameter }));
      const parameters = [
        ...locate(item.parameters, 'paths', template),
        ...locate(operation.parameters, ...at),
      ];
      return { at, operation, parameters, segments };
    }
    return undefined;
  }

  #findContentIssues(
    at: Pointer,
    content: z.output<typeof contentSchema> = {},
    { headers, body }: Pick<DescribedResponse, 'headers' | 'body'>,
    what: string,
  ): string[] {
    const [type = ''] = (headers.get('content-type') ?? '').split(';');
    if (!Object.hasOwn(content, type)) return [`${what} has a content type that is not described`];
    const parsed = parseJson(body);
    if (parsed === undefined) return [`${what} has a body that is not JSON`];
    return this.#findIssues([...at, 'content', type, 'schema'], parsed, `the body of ${what}`);
  }

  #findIssues(at: Pointer, value: unknown, what: string): string[] {
    // Every schema is a component, or inside of one: ajv does not resolve a pointer through a path with braces in it.
    const $ref = `description#/${this.#follow(at).at.map(escapeName).join('/')}`;
    let validate = this.#compiled.get($ref);
    if (!validate) {
      validate = this.#ajv.compile({ $ref });
      this.#compiled.set($ref, validate);
    }
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${what}: ${instancePath} ${message}`);
  }

  /** Follows the references at a pointer. */
  #follow(at: Pointer): { at: Pointer; node: unknown } {
    const node = at.reduce(step, this.document);
    const { success, data } = referenceSchema.safeParse(node);
    return success ? this.#follow(data.$ref.split('/').slice(1).map(unescapeName)) : { at, node };
  }
}

const referenceSchema = z.strictObject({ $ref: z.string().startsWith('#/') });

function step(node: unknown, name: string): unknown {
  return Object.getOwnPropertyDescriptor(Object(node), name)?.value;
}

const escapeName = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1');
const unescapeName = (name: string) => name.replaceAll('~1', '/').replaceAll('~0', '~');

function splitPath(path: string): { pathname: string; search: string } {
  const at = path.indexOf('?');
  return at === -1 ? { pathname: path, search: '' } : { pathname: path.slice(0, at), search: path.slice(at) };
}

/** Returns the parameters of a path if it has the form of a template such as `/transactions/verify/{reference}`. */
function matchTemplate(template: string, pathname: string): Record<string, string> | undefined {
  const pattern = template.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)');
  const groups = new RegExp(`^${pattern}$`).exec(pathname);
  if (!groups) return undefined;
  const decoded = Object.entries(groups.groups ?? {}).map(([name, text]) => [
    name,
    orUndefined(() => decodeURIComponent(text)) ?? text,
  ]);
  return Object.fromEntries(decoded);
}

/** As it is shipped, with what is assumed as `x-assumed`. */
export const marked: unknown = parse(
  readFileSync(new URL('../../../docs/reference/openapi.yaml', import.meta.url), 'utf8'),
);

/** Returns a description without what is marked as assumed, or with it. */
function read(node: unknown, withAssumed: boolean): unknown {
  if (Array.isArray(node)) return node.map((item) => read(item, withAssumed));
  if (!isRecord(node)) return node;
  const { 'x-assumed': patch = {}, ...own } = node;
  const fields = Object.entries(own).map(([name, value]) => [name, read(value, withAssumed)]);
  return withAssumed ? applyMergePatch(Object.fromEntries(fields), patch) : Object.fromEntries(fields);
}

/** What the service documents, and nothing else. */
export const documented = new ServiceDescription(read(marked, false));

/** The same with the assumptions and choices of the package, its mock and its sandbox. */
export const assumed = new ServiceDescription(read(marked, true));
