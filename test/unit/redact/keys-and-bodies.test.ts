import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { ConfigurationError, PaymentsClient, PaymentsError, type PaymentsEvent } from '../../../src/index.ts';
import { calls, posts } from '../../helpers/calls.ts';
import { expectNoSecrets } from '../../helpers/secrets.ts';
import {
  API_KEY,
  catchError,
  charge,
  PHONE,
  sendJson,
  startService,
  successBodies,
} from '../../helpers/service.ts';

const options = { baseUrl: 'https://payments.example', maxRetries: 0 };

describe('an API key', () => {
  test('redacts the key of the last attempt in the response to the next', async () => {
    const keys = ['live-OLD-secret-0123456789', 'live-NEW-secret-0123456789'];
    let attempts = 0;
    const client = new PaymentsClient({
      ...options,
      maxRetries: 1,
      apiKey: () => keys[attempts] ?? '',
      fetch: async () =>
        attempts++ === 0
          ? Response.json({}, { status: 429 })
          : Response.json({ message: `${keys[0]} was revoked, use ${keys[1]}` }, { status: 401 }),
    });
    const failure = await catchError(client.chargeMobileMoney(charge));
    expect(failure).toBeInstanceOf(PaymentsError);
    expect(failure).toMatchObject({ status: 401 });
    for (const key of keys) expect(inspect(failure, { depth: 9 })).not.toContain(key);
  });

  test('redacts the key of a request in its response after five newer keys', async () => {
    const response = Promise.withResolvers<void>();
    let given = 0;
    const keys: string[] = [];
    const client = new PaymentsClient({
      ...options,
      apiKey: () => `live-key-for-one-request-${++given}`,
      fetch: async (_, { headers }) => {
        const key = headers.authorization ?? '';
        keys.push(key);
        if (keys.length === 1) await response.promise;
        return Response.json({ message: `${key} is not known` }, { status: 401 });
      },
    });
    const first = catchError(client.chargeMobileMoney(charge));
    for (let call = 0; call < 5; call++) await catchError(client.chargeMobileMoney(charge));
    response.resolve();
    const failure = await first;
    expect(failure).toMatchObject({ status: 401 });
    expect(inspect(failure, { depth: 9 })).not.toContain('live-key-for-one-request-1');
    expect(keys).toHaveLength(6);
  });

  test('redacts a key in a ConfigurationError that the apiKey function throws', async () => {
    const service = await startService((response) => sendJson(response, 200, successBodies.initialize()));
    const secret = 'sk_live_9fJ2kLm4Qw7RtZ';
    const apiKey = () => {
      throw new ConfigurationError(`The vault refused ${secret}.`);
    };
    for (const operation of [...posts, 'verify'] as const) {
      const failure = await catchError(calls[operation](service.client({ apiKey })));
      expect(failure).toMatchObject({ operation, message: 'The vault refused [REDACTED].' });
      expectNoSecrets(failure, { key: secret });
    }
  });
});

test("redacts secrets in the caller's own request id", async () => {
  const events: PaymentsEvent[] = [];
  const service = await startService((response) => sendJson(response, 422, {}));
  const headers = { 'x-request-id': `${API_KEY} ${PHONE}` };
  const client = service.client({ headers, onEvent: (event) => void events.push(event) });
  const failure = await catchError(client.chargeMobileMoney(charge));
  for (const secret of [API_KEY, PHONE])
    expect(inspect([failure, events], { depth: 9 })).not.toContain(secret);
});

describe('the body of an error', () => {
  const chargeFailure = async (status: number, body: unknown) => {
    const service = await startService((response) => sendJson(response, status, body));
    return await catchError(service.client().chargeMobileMoney(charge));
  };

  test('shows a message of the service about a phone number or an email', async () => {
    const errors = { phone: 'must have 10 digits', customer_email: 'is not an address' };
    const failure = await chargeFailure(422, { errors });
    expect(failure).toMatchObject({
      fieldErrors: [
        { field: 'phone', message: 'must have 10 digits' },
        { field: 'customer_email', message: 'is not an address' },
      ],
      body: { errors },
    });
  });

  test('shows a body nested without end to a depth that can be printed', async () => {
    let body: unknown = 1;
    for (let depth = 0; depth < 2_000; depth++) body = { in: body };
    const failure = await chargeFailure(400, body);
    expect(JSON.stringify(failure)).toContain('nested too deep to show');
  });
});
