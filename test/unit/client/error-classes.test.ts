import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createContext, runInContext, runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import * as source from '../../../src/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { CLOSED_PORT } from '../../helpers/raw-service.ts';
import { API_KEY, catchError, charge } from '../../helpers/service.ts';

const require = createRequire(import.meta.url);
const built = (name: string) => new URL(`../../../dist/${name}`, import.meta.url);

// Made by `npm run build`, which `npm test` runs first.
const esm: typeof source = await import(built('index.js').href);
const cjs: typeof source = require(built('index.cjs').pathname);

/** Every error class, with one error made of it. */
const errorsOf = (library: typeof source) => {
  const facts = { operation: 'verify', outcome: null, retryable: false } as const;
  const response = { ...facts, status: 418, body: '', serviceMessage: undefined, fieldErrors: [] };
  const apiFacts = { ...response, requestId: undefined, retryAfter: undefined };
  const wait = { reference: REFERENCE, attempts: 1, elapsed: 1, startedAt: 0 };
  const transaction = {
    reference: REFERENCE,
    checkout_url: '',
    amount: '1.00',
    currency: 'GHS',
    replayed: false,
  };
  return {
    APIError: new library.APIError('', apiFacts),
    AuthenticationError: new library.AuthenticationError('', apiFacts),
    ClosedError: new library.ClosedError('verify'),
    ConfigurationError: new library.ConfigurationError(''),
    ConflictError: new library.ConflictError('', apiFacts),
    ConnectionError: new library.ConnectionError(''),
    IdempotencyConflictError: new library.IdempotencyConflictError('', {
      operation: 'chargeMobileMoney',
      idempotencyKey: 'order-17',
    }),
    InvalidInputError: new library.InvalidInputError([]),
    InvalidRequestError: new library.InvalidRequestError('', apiFacts),
    JournalError: new library.JournalError(''),
    NotFoundError: new library.NotFoundError('', apiFacts),
    OutcomeUnknownError: new library.OutcomeUnknownError('', { operation: 'initialize', cause: undefined }),
    PermissionError: new library.PermissionError('', apiFacts),
    RateLimitError: new library.RateLimitError('', apiFacts),
    RequestTimeoutError: new library.RequestTimeoutError(''),
    ServerError: new library.ServerError('', apiFacts),
    TransactionMismatchError: new library.TransactionMismatchError(transaction, [], facts),
    UnexpectedResponseError: new library.UnexpectedResponseError('', response),
    WaitTimeoutError: new library.WaitTimeoutError({
      ...wait,
      lastTransaction: undefined,
      lastError: undefined,
    }),
  };
};

type Name = keyof ReturnType<typeof errorsOf>;
const names = Object.keys(errorsOf(source)) as Name[];
const apiNames: Name[] = [
  'AuthenticationError',
  'ConflictError',
  'InvalidRequestError',
  'NotFoundError',
  'PermissionError',
  'RateLimitError',
  'ServerError',
];

test('lists every exported error class', () => {
  const exported = Object.keys(source).filter((name) => /^[A-Z]\w*(?<!Payments)Error$/.test(name));
  expect(exported.sort()).toEqual([...names].sort());
});

test('gives each error a code of its own and the name of its class', () => {
  const errors = Object.entries(errorsOf(source));
  expect(new Set(errors.map(([, error]) => error.code)).size).toBe(errors.length);
  for (const [name, error] of errors) {
    expect(error.name).toBe(name);
    expect(String(error)).toMatch(new RegExp(`^${name}`));
    expect(error.stack).toContain(name);
  }
});

describe.each([
  ['the ES module', esm, 'the CommonJS module', cjs],
  ['the CommonJS module', cjs, 'the ES module', esm],
  ['the ES module', esm, 'the ES module', esm],
])('an error of %s, with the classes of %3$s', (_one, thrower, _other, catcher) => {
  test.each(names)('%s is an instance of its class, of its parents, and of no other', (name) => {
    const error: unknown = errorsOf(thrower)[name];
    const parents: string[] = ['PaymentsError', ...(apiNames.includes(name) ? ['APIError'] : [])];
    expect(error).toBeInstanceOf(Error);
    expect(error).toBeInstanceOf(catcher.PaymentsError);
    for (const other of names) {
      expect(error instanceof catcher[other]).toBe(other === name || parents.includes(other));
    }
  });
});

test("matches a merchant's own subclass by its prototype only", () => {
  class ShopError extends source.ConnectionError {}
  class OtherError extends source.ConnectionError {}
  const own = new ShopError('the till is offline');
  expect(own).toBeInstanceOf(ShopError);
  expect(own).toBeInstanceOf(source.ConnectionError);
  expect(own).toBeInstanceOf(cjs.PaymentsError);
  expect(own).not.toBeInstanceOf(OtherError);
  expect(new source.ConnectionError('')).not.toBeInstanceOf(ShopError);
});

test("keeps the name that a merchant's own subclass gives itself", () => {
  class OnPrototype extends source.ConnectionError {}
  Object.defineProperty(OnPrototype.prototype, 'name', { value: 'OnPrototype' });
  class Assigned extends source.APIError {
    constructor(...args: ConstructorParameters<typeof source.APIError>) {
      super(...args);
      Object.assign(this, { name: 'Assigned' });
    }
  }
  class Unnamed extends source.ConnectionError {}
  const { APIError: facts } = errorsOf(source);
  const errors = [
    new OnPrototype('till'),
    new Assigned('till', { ...facts, operation: 'verify' }),
    new Unnamed('till'),
  ];
  expect(errors.map(String)).toEqual(['OnPrototype: till', 'Assigned: till', 'ConnectionError: till']);
});

test.each([
  null,
  undefined,
  'text',
  17,
  {},
  new Error('x'),
  { name: 'ConnectionError', code: 'connection_error' },
])('matches %j with no class', (value) => {
  expect(value instanceof source.PaymentsError).toBe(false);
  expect(value instanceof source.ConnectionError).toBe(false);
});

test('recognises the errors of fetch inside a Jest sandbox', async () => {
  // What the language itself has is the sandbox's own; what Node adds is shared.
  const own = new Set<string>(runInNewContext('Object.getOwnPropertyNames(globalThis)'));
  const shared = Object.getOwnPropertyNames(globalThis).filter((name) => !own.has(name));
  const sandbox = createContext(
    Object.fromEntries(shared.map((name) => [name, Reflect.get(globalThis, name)])),
  );
  const code = readFileSync(built('index.cjs'), 'utf8');
  const load = runInContext(`(require, exports) => {${code}\n return exports; }`, sandbox);
  const inSandbox: typeof source = load(createRequire(built('index.cjs')), {});

  const baseUrl = `http://127.0.0.1:${CLOSED_PORT}`;
  const client = new inSandbox.PaymentsClient({ apiKey: API_KEY, baseUrl, maxRetries: 0 });
  expect(await catchError(client.chargeMobileMoney(charge))).toMatchObject({
    name: 'ConnectionError',
    outcome: 'not_sent',
    cause: { message: 'fetch failed', cause: { code: 'ECONNREFUSED' } },
  });
});
