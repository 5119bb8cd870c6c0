import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { ConfigurationError, PaymentsClient, PaymentsError, type PaymentsEvent } from '../../../src/index.ts';
import { calls, posts, REFERENCE } from '../../helpers/calls.ts';
import { expectNoSecrets } from '../../helpers/secrets.ts';
import { API_KEY, catchError, charge, PHONE, sendJson, startService } from '../../helpers/service.ts';

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
    const service = await startService();
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
  const service = await startService(422);
  const headers = { 'x-request-id': `${API_KEY} ${PHONE}` };
  const client = service.client({ headers, onEvent: (event) => void events.push(event) });
  const failure = await catchError(client.chargeMobileMoney(charge));
  for (const secret of [API_KEY, PHONE])
    expect(inspect([failure, events], { depth: 9 })).not.toContain(secret);
});

test.each([
  '0244123456789',
  'order 17 at 024 412 3456',
  '00233244123456',
  '4bf92f3577b34da6a3ce929d0e0e4736',
])("shows the caller's own request id %s in log lines", async (id) => {
  const lines: string[] = [];
  const log = (line: string) => void lines.push(line);
  const logger = { debug: log, info: log, warn: log, error: log };
  const service = await startService(422);
  const client = service.client({ headers: { 'x-request-id': id }, logger });
  const failure = await catchError(client.verify(REFERENCE));
  expect(failure).toMatchObject({ requestId: id });
  expect(lines).toHaveLength(2);
  for (const line of lines) expect(line).toContain(`request id ${id}`);
});

/** How a number can be written with the digits of a script. */
const scripts = [
  '０１２３４５６７８９',
  '٠١٢٣٤٥٦٧٨٩',
  '۰۱۲۳۴۵۶۷۸۹',
  '०१२३४५६७८९',
  '𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗',
  '𝟬𝟭𝟮𝟯𝟰𝟱𝟲𝟳𝟴𝟵',
];
const writeIn = (script: string, text: string) =>
  text.replace(/\d/g, (digit) => [...script][Number(digit)] ?? '');

test.each(scripts)('redacts numbers in the digits %s', async (script) => {
  const others = ['+233 24 555 0199', '0245550199'];
  const shown = [...others, charge.phone].map((number) => writeIn(script, number));
  const body = { message: `No: ${shown.join(', ')}.`, msisdn: shown[1], left: 'of 12 tries' };
  const service = await startService((response) => sendJson(response, 422, body));
  const failure = await catchError(service.client().chargeMobileMoney(charge));
  for (const number of shown) expect(inspect(failure, { depth: 9 })).not.toContain(number);
  expect(failure).toMatchObject({ body: { msisdn: '[REDACTED]', left: 'of 12 tries' } });
  const phone = writeIn(script, charge.phone);
  const own = await catchError(service.client().chargeMobileMoney({ ...charge, phone }));
  expect(inspect(own, { depth: 9 })).not.toContain(phone);
  const plain = await startService(422, { message: charge.phone });
  const echoed = await catchError(plain.client().chargeMobileMoney({ ...charge, phone }));
  expect(inspect(echoed, { depth: 9 })).not.toContain(charge.phone);
});

test.each(['mobile_number', 'mobileNumber', 'phone', 'msisdn'])(
  'redacts the %s of another customer',
  async (field) => {
    // No form that is known to be a phone number.
    const body = { customer: { [field]: '55-0199-73' }, mobile: 'app' };
    const service = await startService((response) => sendJson(response, 422, body));
    const failure = await catchError(service.client().chargeMobileMoney(charge));
    expect(failure).toMatchObject({ body: { customer: { [field]: '[REDACTED]' }, mobile: 'app' } });
  },
);

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
