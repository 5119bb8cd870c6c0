import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { catchError } from '../../helpers/service.ts';
import { momo, type Respond, world } from '../../helpers/world.ts';

/** The service refuses a charge and repeats what it was sent. */
const echo =
  (status = 422): Respond =>
  async (request) => {
    const { phone, customer_email } = JSON.parse(await request.clone().text());
    const message = `refused: ${request.headers.get('authorization')} ${phone} ${customer_email} is not valid`;
    return Response.json({ message }, { status });
  };

async function failCharge(
  respond: Respond,
  fields: object = {},
  options: object = {},
  key: string | null = null,
) {
  const { payments } = world({ respond, client: options }).shop;
  return await catchError(payments.chargeMobileMoney({ ...momo, ...fields }, { idempotencyKey: key }));
}

// A form that is open to everyone takes any text, and no pattern can be made of the longest.
test.each([
  ['many digits', '1'.repeat(100_000)],
  ['many dashes', `${'-'.repeat(100_000)}0244123456`],
  ['many ampersands', `${'&<">'.repeat(25_000)}0244123456`],
  ['many backslashes', `${'\\'.repeat(150)}0244123456`],
  ['endless backslashes', `${'\\'.repeat(100_000)}0244123456`],
  ['half characters', `${'\ud800'.repeat(1_000)}0244123456`],
])('redacts a phone number of %s, and returns the result', async (_, phone) => {
  for (const key of [null, 'order-17']) {
    const failure = await failCharge(echo(), { phone }, {}, key);
    expect(failure).toMatchObject({ name: 'InvalidRequestError', outcome: 'rejected' });
    expect(inspect(failure, { depth: 9, maxStringLength: null })).not.toContain(phone.slice(-20));
  }
});

test.each([
  ['characters', 'sk_test_'.padEnd(20_000, 'k9')],
  ['signs', 'sk_test_'.padEnd(20_000, '-._~+/=&"<')],
])('redacts a key of many %s', async (_, apiKey) => {
  for (const status of [401, 503]) {
    const failure = await failCharge(echo(status), {}, { apiKey });
    expect(failure).toMatchObject({ outcome: status === 401 ? 'rejected' : 'unknown' });
    expect(inspect(failure, { depth: 9, maxStringLength: null })).not.toContain(apiKey.slice(8, 28));
  }
});

test('redacts an echoed email of backslashes without delay', async () => {
  const failure = await failCharge(echo(), { customer_email: `${'\\'.repeat(63)}@example.com` });
  expect(failure).toMatchObject({ name: 'InvalidRequestError', outcome: 'rejected' });
  expect(inspect(failure, { depth: 9 })).not.toContain('@example.com');
});

test('redacts part of a key or a number at the end of a cut body', async () => {
  const apiKey = 'live-key-of-a-shape-that-nobody-knows-/+=';
  for (const secret of [encodeURIComponent(apiKey), apiKey.toUpperCase(), '024 412 3456', '0244123456']) {
    for (let before = 16_384 - secret.length; before <= 16_384; before++) {
      const start = `<p>${'x '.repeat(8_192)}`.slice(0, before - 1);
      const page = `${start} ${secret} and more`;
      const respond = () => new Response(page, { status: 422 });
      const { body } = Object(await failCharge(respond, { phone: '0244123456' }, { apiKey }));
      expect(body).not.toContain(secret.slice(0, 5));
    }
  }
});

// Each has so many readings that a pattern with two ways to read it, or a search from each character, would take hours.
test.each([
  '\\',
  '\\\\\\\\u0020',
  '\\u005c',
  '%25',
  '%C3',
  '&amp;',
  '&#x000000000',
  '0 1 ',
  '+1 - ',
  '2 4 4 1 2 3 4 5 ',
  '244-123-45-',
  'phone   ',
  'aaaaaaaa-',
  'a@',
  'TXN-',
])('redacts a long body of %j without delay', async (part) => {
  const body = part.repeat(Math.ceil((16 * 1024) / part.length)).slice(0, 16 * 1024);
  const respond = () => new Response(body, { status: 422, headers: { 'x-request-id': part.repeat(99) } });
  for (const phone of ['0244123456', '2'.repeat(9)]) {
    const failure = await failCharge(respond, { phone });
    // A text like a reference takes away the proof that the service refused.
    const expected =
      part === 'TXN-'
        ? { name: 'OutcomeUnknownError', outcome: 'unknown' }
        : { name: 'InvalidRequestError', outcome: 'rejected' };
    expect(failure).toMatchObject(expected);
  }
});
