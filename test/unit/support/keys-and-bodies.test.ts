import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { ConfigurationError, WaitTimeoutError } from '../../../src/index.ts';
import { sleep } from '../../helpers/clock.ts';
import { expectNoSecrets } from '../../helpers/secrets.ts';
import { API_KEY, catchError, EMAIL, PHONE, successBodies } from '../../helpers/service.ts';
import { MINUTE, momo, page, type Respond, SECOND, world } from '../../helpers/world.ts';

const unkeyed = { idempotencyKey: null };

/** The service refuses each request with a body. */
const refuse =
  (body: unknown, status = 422): Respond =>
  () =>
    Response.json(body, { status });

/** Makes a charge that fails, and returns its error. */
async function failCharge(respond: Respond, fields: object = {}): Promise<unknown> {
  return await catchError(
    world({ respond }).shop.payments.chargeMobileMoney({ ...momo, ...fields }, unkeyed),
  );
}

const print = (value: unknown) => inspect(value, { depth: 9 });

test('redacts the key of the last attempt in the response to the next', async () => {
  const keys = ['live-OLD-secret-0123456789', 'live-NEW-secret-0123456789'];
  let attempts = 0;
  const { payments } = world({
    client: { maxRetries: 1, apiKey: () => keys[attempts] ?? '' },
    respond: () =>
      attempts++ === 0
        ? new Response('{}', { status: 429 })
        : Response.json({ message: `${keys[0]} was revoked, use ${keys[1]}` }, { status: 401 }),
  }).shop;
  const failure = await catchError(payments.chargeMobileMoney(momo, unkeyed));
  expect(failure).toMatchObject({ status: 401 });
  for (const key of keys) expect(print(failure)).not.toContain(key);
});

test('redacts the key of a request in its response after five newer keys', async () => {
  let given = 0;
  let sent = 0;
  const { payments } = world({
    client: { apiKey: () => `live-key-for-one-request-${++given}` },
    respond: async ({ headers }) => {
      if (++sent === 1) await sleep(10 * SECOND);
      return Response.json({ message: `${headers.get('authorization')} is not known` }, { status: 401 });
    },
  }).shop;
  const charge = () => catchError(payments.chargeMobileMoney(momo, unkeyed));
  const first = charge();
  await Promise.all([1, 2, 3, 4, 5].map(charge));
  const failure = await first;
  expect(failure).toMatchObject({ status: 401 });
  expect(print(failure)).not.toContain('live-key-for-one-request-1');
  expect(sent).toBe(6);
});

test('redacts a key in a ConfigurationError that the apiKey function throws', async () => {
  const secret = 'sk_live_9fJ2kLm4Qw7RtZ';
  const apiKey = () => {
    throw new ConfigurationError(`The vault refused ${secret}.`);
  };
  const { payments } = world({ client: { apiKey } }).shop;
  const calls = [
    payments.initialize(page),
    payments.chargeMobileMoney(momo, unkeyed),
    payments.verify('TXN-1'),
  ];
  for (const failure of await Promise.all(calls.map(catchError))) {
    expect(failure).toMatchObject({ message: 'The vault refused [REDACTED].' });
    expectNoSecrets(failure, { key: secret });
  }
});

test("redacts secrets in the caller's own request id", async () => {
  const client = { headers: { 'x-request-id': `${API_KEY} ${PHONE}` } };
  const { shop, events } = world({ respond: refuse({}), client });
  const failure = await catchError(shop.payments.chargeMobileMoney(momo, unkeyed));
  expect(events).toHaveLength(2);
  for (const secret of [API_KEY, PHONE]) expect(print([failure, events])).not.toContain(secret);
});

/** Returns a logger that collects lines. */
function collectLines() {
  const lines: string[] = [];
  const log = (line: string) => void lines.push(line);
  return { lines, logger: { debug: log, info: log, warn: log, error: log } };
}

test.for(['0244123456789', 'order 17 at 024 412 3456', '00233244123456', '4bf92f3577b34da6a3ce929d0e0e4736'])(
  "shows the caller's own request id %s in log lines",
  async (id) => {
    const { lines, logger } = collectLines();
    const { payments } = world({
      respond: refuse({}),
      client: { headers: { 'x-request-id': id }, logger },
    }).shop;
    expect(await catchError(payments.verify('TXN-1'))).toMatchObject({ requestId: id });
    expect(lines).toHaveLength(2);
    for (const line of lines) expect(line).toContain(`request id ${id}`);
  },
);

// How a number can be written with the digits of a script.
test.for(['０１２３４５６７８９', '٠١٢٣٤٥٦٧٨٩', '۰۱۲۳۴۵۶۷۸۹', '०१२३४५६७८९', '𝟎𝟏𝟐𝟑𝟒𝟓𝟔𝟕𝟖𝟗', '𝟬𝟭𝟮𝟯𝟰𝟱𝟲𝟳𝟴𝟵'])(
  'redacts numbers in the digits %s',
  async (script) => {
    const write = (text: string) => text.replace(/\d/g, (digit) => [...script][Number(digit)] ?? '');
    const shown = ['+233 24 555 0199', '0245550199', PHONE].map(write);
    const body = { message: `No: ${shown.join(', ')}.`, msisdn: shown[1], left: 'of 12 tries' };
    const failure = await failCharge(refuse(body));
    for (const number of shown) expect(print(failure)).not.toContain(number);
    expect(failure).toMatchObject({ body: { msisdn: '[REDACTED]', left: 'of 12 tries' } });
    const phone = write(PHONE);
    expect(print(await failCharge(refuse(body), { phone }))).not.toContain(phone);
    expect(print(await failCharge(refuse({ message: PHONE }), { phone }))).not.toContain(PHONE);
  },
);

test.for(['mobile_number', 'mobileNumber', 'phone', 'msisdn'])(
  'redacts the %s of another customer',
  async (field) => {
    // No form that is known to be a phone number.
    const body = { customer: { [field]: '55-0199-73' }, mobile: 'app' };
    expect(await failCharge(refuse(body))).toMatchObject({
      body: { customer: { [field]: '[REDACTED]' }, mobile: 'app' },
    });
  },
);

test('shows a message of the service about a phone number or an email', async () => {
  const errors = { phone: 'must have 10 digits', customer_email: 'is not an address' };
  expect(await failCharge(refuse({ errors }))).toMatchObject({
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
  expect(JSON.stringify(await failCharge(refuse(body, 400)))).toContain('nested too deep to show');
});

test.for([API_KEY, EMAIL, `odd ${API_KEY}`, 'two\nlines', 'reversed'])(
  'a wait prints the status %j only if it is a plain word',
  async (status) => {
    const { lines, logger } = collectLines();
    const respond = () => Response.json(successBodies.verify({ status }));
    const { shop, events } = world({ respond, client: { logger } });
    const error = await catchError(shop.payments.waitForFinalStatus('TXN-8f2c61d0', { timeout: MINUTE }));
    expect(error).toBeInstanceOf(WaitTimeoutError);
    const isPlain = status === 'reversed';
    const lastTransaction = { raw_status: status, customer_email: EMAIL };
    expect(error).toMatchObject({ lastStatus: isPlain ? status : 'unrecognised', lastTransaction });
    const texts = [
      inspect(events),
      lines.join('|'),
      inspect(error, { showHidden: true }),
      JSON.stringify(error),
    ];
    if (!isPlain) for (const text of texts) expect(text).not.toContain(status);
    expectNoSecrets(error, { key: API_KEY, email: EMAIL }, { getters: false });
  },
);
