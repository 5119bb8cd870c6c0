import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { OutcomeUnknownError, PaymentsClient } from '../../../src/index.ts';
import { API_KEY, catchError, charge, successBodies } from '../../helpers/service.ts';

const options = { apiKey: API_KEY, baseUrl: 'https://payments.example', maxRetries: 0 };

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const named = (name: string) => Object.assign(new Error('broken'), { name });

/** Thrown values that seem errors until one of their properties is read. */
const traps: [what: string, thrown: () => unknown][] = [
  ['a revoked proxy', revoked],
  [
    'a proxy that throws',
    () =>
      new Proxy(new Error('x'), {
        getPrototypeOf() {
          throw named(API_KEY);
        },
      }),
  ],
  [
    'an error whose message throws',
    () =>
      Object.defineProperty(new Error('x'), 'message', {
        get() {
          throw named(API_KEY);
        },
      }),
  ],
  [
    'an error whose code throws',
    () =>
      Object.defineProperty(new Error('x'), 'code', {
        get() {
          throw named(API_KEY);
        },
      }),
  ],
  ['an error with a message of a megabyte', () => new Error('x'.repeat(2 ** 20))],
];

test.each(traps)('reports unknown if fetch throws %s, and shows no key', async (_, thrown) => {
  const client = new PaymentsClient({
    ...options,
    fetch: () => {
      throw thrown();
    },
  });
  const failure = await catchError(client.chargeMobileMoney(charge));
  expect(failure).toBeInstanceOf(OutcomeUnknownError);
  const shown = inspect(failure, { depth: 9 });
  expect(shown).not.toContain(API_KEY);
  expect(shown.length).toBeLessThan(20_000);
});

test.each(traps)(
  'throws its own error and sends nothing if the apiKey function throws %s',
  async (_, thrown) => {
    const client = new PaymentsClient({
      ...options,
      apiKey: () => {
        throw thrown();
      },
    });
    const failure = await catchError(client.chargeMobileMoney(charge));
    expect(failure).toMatchObject({ code: 'configuration_error', outcome: 'not_sent' });
    expect(inspect(failure, { depth: 9 })).not.toContain(API_KEY);
  },
);

test.each([400, 401, 404, 429])(
  'reports a %d if the error body cannot be written as text',
  async (status) => {
    const body = { errors: [{ loc: [{ toString: 1 }, 'body', 3, 'phone'], message: 'bad' }] };
    const client = new PaymentsClient({
      ...options,
      fetch: async () => Response.json(body, { status, headers: { 'retry-after': '9' } }),
    });
    const failure = await catchError(client.chargeMobileMoney(charge));
    expect(failure).toMatchObject({ status, outcome: 'rejected', retryAfter: 9_000 });
    expect(failure).toMatchObject({ fieldErrors: [{ field: '3.phone', message: 'bad' }] });
  },
);

test.each([
  ['a big number', 5n],
  ['a circle', Object.assign([], { self: null }).concat([])],
  ['an error with a circle', circular()],
])('can be written as JSON after an abort with %s', async (_, reason) => {
  const controller = new AbortController();
  const client = new PaymentsClient({
    ...options,
    fetch: () => {
      controller.abort(reason);
      return new Promise(() => {});
    },
  });
  const failure = await catchError(client.chargeMobileMoney(charge, { signal: controller.signal }));
  expect(failure).toBeInstanceOf(OutcomeUnknownError);
  expect(JSON.parse(JSON.stringify(failure))).toMatchObject({ code: 'outcome_unknown' });
});

function circular(): Error {
  const error = new Error('round');
  error.cause = error;
  return error;
}

test('sends nothing if a listener of the request event aborts', async () => {
  const controller = new AbortController();
  let sent = 0;
  const client = new PaymentsClient({
    ...options,
    fetch: async () => {
      sent++;
      return Response.json(successBodies.chargeMobileMoney());
    },
    onEvent: ({ type }) => {
      if (type === 'request') controller.abort('changed my mind');
    },
  });
  expect(await catchError(client.chargeMobileMoney(charge, { signal: controller.signal }))).toBe(
    'changed my mind',
  );
  expect(sent).toBe(0);
});
