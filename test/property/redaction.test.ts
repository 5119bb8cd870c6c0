import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PaymentsClient } from '../../src/index.ts';
import { undiciTransport } from '../../src/node/index.ts';
import { memoryJournal } from '../../src/stores/index.ts';
import { REFERENCE } from '../helpers/calls.ts';
import { expectNoSecrets } from '../helpers/secrets.ts';
import {
  API_KEY,
  catchError,
  charge,
  EMAIL,
  type Service,
  sendJson,
  startService,
  successBodies,
} from '../helpers/service.ts';
import { chooseSize } from '../helpers/sized.ts';

const letters = [...'abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789'];
const signs = [...'/+=&"<>\'~#%.\\-_'];

const apiKeys = fc.oneof(
  fc
    .string({ unit: fc.constantFrom(...letters), minLength: 16, maxLength: 24 })
    .map((part) => `sk_live_${part}`),
  // A key in quotation marks is refused.
  fc
    .string({ unit: fc.constantFrom(...letters, ...signs), minLength: 18, maxLength: 30 })
    .filter((key) => !/^["'].*["']$/.test(key)),
);
const subscribers = fc
  .tuple(
    fc.constantFrom('2', '5'),
    fc.string({ unit: fc.constantFrom(...'123456789'), minLength: 8, maxLength: 8 }),
  )
  .map((parts) => parts.join(''));
const emails = fc
  .tuple(
    fc.string({ unit: fc.constantFrom(...'abcdefghijkmn'), minLength: 5, maxLength: 12 }),
    fc.constantFrom('', '+momo', '.serwaa', "'s", '_1', 'ü'),
    fc.constantFrom('example.com', 'shop.example.co.uk', 'münchen.example'),
  )
  .map(([name, rest, host]) => `${name}${rest}@${host}`);

const codeOf = (character: string) => character.charCodeAt(0);
const everySign = (text: string, write: (character: string) => string) => text.replace(/[^\w ]/g, write);

/** Encodings of one system for the text of another. They are applied one after another, such as JSON in a URL in a page. */
const encodings: Record<string, (text: string) => string> = {
  JSON: (text) => JSON.stringify(text).slice(1, -1),
  'JSON, in ASCII': (text) => everySign(text, (sign) => `\\u${codeOf(sign).toString(16).padStart(4, '0')}`),
  'JSON, slashes too': (text) => JSON.stringify(text).slice(1, -1).replaceAll('/', '\\/'),
  'an address': (text) => encodeURIComponent(text.toWellFormed()),
  'an address, small': (text) => encodeURIComponent(text).replace(/%../g, (byte) => byte.toLowerCase()),
  'HTML, by number': (text) => everySign(text, (sign) => `&#${codeOf(sign)};`),
  'HTML, in hex': (text) => everySign(text, (sign) => `&#x${codeOf(sign).toString(16)};`),
  'HTML, by name': (text) =>
    text
      .replaceAll('&', '&amp;')
      .replaceAll('@', '&commat;')
      .replaceAll('"', '&quot;')
      .replaceAll('+', '&plus;'),
};
const encoders = fc.array(fc.constantFrom(...Object.keys(encodings)), { maxLength: 3 }).map((names) =>
  Object.assign((text: string) => names.reduce((all, name) => encodings[name]?.(all) ?? all, text), {
    names,
  }),
);

const gaps = fc.constantFrom(
  '',
  ' ',
  '-',
  '.',
  '   ',
  ' - ',
  '\u00a0',
  '\u2011',
  ' . . . . . . ',
  ' '.repeat(40),
  '/',
);
const prefixes = fc.constantFrom('0', '+233', '233', '00233', '+233 (0)', '(0)');

/** A number with something between its digits. */
const spread = (digits: string, gap: string, every: number) =>
  digits.replace(new RegExp(`(\\d{${every}})(?=\\d)`, 'g'), `$1${gap}`);

/** Where a service can echo what it was sent. */
const places: Record<string, (texts: string[]) => string> = {
  'a message': (texts) => JSON.stringify({ message: `Refused: ${texts.join(' ')} is not valid.` }),
  fields: (texts) => JSON.stringify({ error: { sent: texts } }),
  'names of fields': (texts) => JSON.stringify(Object.fromEntries(texts.map((text) => [text, 1]))),
  'field errors': (texts) =>
    JSON.stringify({ errors: texts.map((text) => ({ field: text, message: text })) }),
  'a deep field': (texts) => JSON.stringify([[[{ a: { b: [{ c: texts.join('|') }] } }]]]),
  'JSON that breaks off': (texts) => `{"message":${JSON.stringify(texts.join(' '))}`,
  text: (texts) => `Refused: ${texts.join(', ')}`,
  'a page': (texts) => `<html><body>${texts.map((text) => `<p>${text}</p>`).join('')}`,
};
const statuses = fc.constantFrom(200, 302, 400, 401, 404, 422, 429, 500);

interface Echo {
  status: number;
  body: string;
}

/** Starts a service that gives the same response to everything, and all that a failing call to it shows. */
async function startEcho() {
  let echo: Echo = { status: 500, body: '' };
  const service = await startService((response) => response.writeHead(echo.status).end(echo.body));
  return async (now: Echo, apiKey: string, call: (client: PaymentsClient) => Promise<unknown>) => {
    echo = now;
    const reported: unknown[] = [];
    const report = (...what: unknown[]) => void reported.push(...what);
    const logger = { debug: report, info: report, warn: report, error: report };
    const failure = await catchError(call(service.client({ apiKey, onEvent: report, logger })));
    return { failure, reported };
  };
}

describe('a secret that the service echoes (property)', () => {
  test('is redacted, encoded up to three times, with gaps, anywhere', async () => {
    const failing = await startEcho();
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          key: apiKeys,
          subscriber: subscribers,
          email: emails,
          encode: encoders,
          gap: gaps,
          every: fc.integer({ min: 1, max: 4 }),
          prefix: prefixes,
          place: fc.constantFrom(...Object.keys(places)),
          status: statuses,
        }),
        async ({ key, subscriber, email, encode, gap, every, prefix, place, status }) => {
          const phone = `0${subscriber}`;
          const texts = [key, email, phone, spread(`${prefix}${subscriber}`, gap, every)].map(encode);
          const body = places[place]?.(texts) ?? '';
          const { failure, reported } = await failing({ status, body }, key, (client) =>
            client.chargeMobileMoney({ ...charge, phone, customer_email: email }),
          );
          expectNoSecrets([failure, reported], { key, phone, email });
          expectNoSecrets(failure, { key, phone, email });
        },
      ),
      { numRuns: chooseSize(60, 200) },
    );
  });

  test('is redacted on a read if it looks like a phone number', async () => {
    const failing = await startEcho();
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          subscriber: subscribers,
          email: emails,
          encode: encoders,
          gap: fc.constantFrom('', ' ', '-', '.', ' - ', '\u2011'),
          every: fc.constantFrom(2, 3, 4),
          prefix: prefixes,
          place: fc.constantFrom(...Object.keys(places)),
          status: statuses,
        }),
        async ({ subscriber, email, encode, gap, every, prefix, place, status }) => {
          const texts = [email, `${prefix}${gap}${spread(subscriber, gap, every)}`].map(encode);
          const body = places[place]?.(texts) ?? '';
          const { failure, reported } = await failing({ status, body }, API_KEY, (client) =>
            client.verify(REFERENCE),
          );
          expectNoSecrets([failure, reported], { key: API_KEY, phone: `0${subscriber}`, email });
          expectNoSecrets(failure, { key: API_KEY, phone: `0${subscriber}`, email });
        },
      ),
      { numRuns: chooseSize(60, 200) },
    );
  });

  test.each([
    'The mobile number 244123456 is not registered.',
    'phone: 254712345678 is unknown',
    'Kindly dial +254 712 345 678, or 020 7946 0958.',
    'msisdn="233244123456"',
    'Sent to 00233-24-412-3456.',
    'Tel. 244123456 is unknown.',
    // As an IPv4 address is written.
    'Sent to 0.241.123.156.',
    'Sent to 233.241.123.156.',
    'phone 24.41.23.156',
    // As a date is written.
    'Sent to 0241-12-20-56.',
    'phone 2024-12-20-56',
    'Sent to 05.12.2012.34',
    'Sent to 05/44/1234/56',
  ])('is redacted as a number in %j', async (message) => {
    const failing = await startEcho();
    const echo = { status: 404, body: JSON.stringify({ message }) };
    const { failure } = await failing(echo, API_KEY, (client) => client.verify(REFERENCE));
    const { serviceMessage } = Object(failure);
    expect(serviceMessage).toContain('[REDACTED]');
    expect(serviceMessage.replace(/\D/g, '').length).toBe(0);
  });
});

describe('text that is not secret (property)', () => {
  const ids = {
    amount: fc.integer({ min: 100, max: 10 ** 11 }).map((cents) => (cents / 100).toFixed(2)),
    'an amount with commas': fc
      .integer({ min: 10 ** 6, max: 10 ** 12 })
      .map((amount) => amount.toLocaleString('en')),
    'a small amount': fc.constantFrom('0.00', '0.50', '0.123456789', '0.0000000001'),
    'a time': fc
      .date({ min: new Date('2001-01-01'), max: new Date('2099-12-31'), noInvalidDate: true })
      .map((date) => date.toISOString()),
    'a date': fc
      .tuple(
        fc.date({ min: new Date('1901-01-01'), max: new Date('2099-12-31'), noInvalidDate: true }),
        fc.constantFrom('-', '/', '.'),
        fc.constantFrom('', ' 10:30:59'),
      )
      .map(([date, between, time]) => {
        const [year, month, day] = date.toISOString().slice(0, 10).split('-');
        return `${[day, month, year].join(between)}${time}`;
      }),
    'a time of day': fc
      .date({ min: new Date('2001-01-01'), max: new Date('2099-12-31'), noInvalidDate: true })
      .map((date) => date.toUTCString()),
    'an epoch': fc.integer({ min: 1_600_000_000_000, max: 1_999_999_999_999 }).map(String),
    'a UUID': fc.uuid(),
    'a reference': fc
      .string({ unit: fc.constantFrom(...'0123456789'), minLength: 6, maxLength: 14 })
      .map((digits) => `TXN-${digits}`),
    'a reference with letters': fc
      .string({ unit: fc.constantFrom(...letters), minLength: 6, maxLength: 14 })
      .map((suffix) => `TXN-${suffix}`),
    'an id': fc.integer({ min: 3_000_000_000, max: 9_999_999_999 }).map(String),
    'an order': fc
      .integer({ min: 0, max: 999_999_999_999 })
      .map((id) => `order-${String(id).padStart(12, '0')}`),
    'a status': fc.constantFrom('404', '422', '429', '503'),
    // An address that begins with 0 or 233 looks like a phone number. No host has one: the first network is reserved, the
    // second is of multicast groups.
    'an address': fc.ipV4().filter((address) => !/^(?:0|233)\./.test(address)),
  };

  test.each(Object.entries(ids))('%s', async (_, values) => {
    const failing = await startEcho();
    await fc.assert(
      fc.asyncProperty(
        fc.array(values as fc.Arbitrary<string>, { minLength: 1, maxLength: 3 }),
        async (shown) => {
          const message = `Refused ${shown.join(' of ')} (code 17): try again`;
          const echo = { status: 422, body: JSON.stringify({ message, shown }) };
          const { failure } = await failing(echo, API_KEY, (client) => client.verify(REFERENCE));
          expect(failure).toMatchObject({ serviceMessage: message, body: { message, shown } });
        },
      ),
      { numRuns: 60 },
    );
  });

  test('a request id', async () => {
    const ids = ['0244123456', '233244123456', '7f1c8e52-0a7b-4b9e-8d6f-0123456789ab', 'req_0123456789'];
    for (const id of ids) {
      const service = await startService((response) => sendJson(response, 503, {}, { 'x-request-id': id }));
      expect(await catchError(service.client().verify(REFERENCE))).toMatchObject({ requestId: id });
    }
  });
});

describe('shows a name that a caller gives only if it is plain', () => {
  const people = { key: API_KEY, phone: '0244123456', email: EMAIL };
  const lettersOnly = 'qwkjzhxvbnmplgtrdfcyas';
  const names = [
    API_KEY,
    '0244123456',
    '+233 24 412 3456',
    EMAIL,
    `x${API_KEY}`,
    lettersOnly,
    `${lettersOnly}\n`,
  ];

  const given: Record<string, (service: Service, name: string) => Promise<unknown>> = {
    'an option of the client': async ({ client }, name) => client({ [name]: 1 }),
    'an option for polling': async ({ client }, name) => client({ polling: { [name]: 1 } }),
    'an option of a charge': ({ client }, name) => client().chargeMobileMoney(charge, { [name]: 1 }),
    'an option of a read': ({ client }, name) => client().verify(REFERENCE, { [name]: 1 }),
    'an option of a wait': ({ client }, name) => client().waitForFinalStatus(REFERENCE, { [name]: 1 }),
    'an option of undiciTransport': async (_, name) => undiciTransport({ [name]: 1 }),
    'a field of a charge': ({ client }, name) => client().chargeMobileMoney({ ...charge, ...{ [name]: 1 } }),
    'a field of expect': ({ client }, name) =>
      client().verify(REFERENCE, { expect: { amount: 1, ...{ [name]: 1 } } }),
    'a header with a value that is refused': async ({ client }, name) =>
      client({ headers: { [name]: 'a\nb' } }),
    'a header that is no text': ({ client }, name) =>
      client().verify(REFERENCE, { headers: { [name]: '\u{1f600}' } }),
  };

  test.each(Object.entries(given))('%s', async (_, call) => {
    const service = await startService();
    for (const name of names) {
      const failure = await catchError(call(service, name));
      expect(failure).toMatchObject({ name: expect.stringMatching(/^(?:Configuration|InvalidInput)Error$/) });
      expectNoSecrets(failure, people);
      expectNoSecrets(failure, { key: lettersOnly });
      expect(String(failure).length).toBeLessThan(225);
    }
    expect(service.requests).toEqual([]);
  });

  test.each([
    [{ apikey: 'x' }, 'Unknown option "apikey". Did you mean apiKey?'],
    [{ api_key: 'x' }, 'Unknown option "api_key". Did you mean apiKey?'],
    [{ baseURL: 'x' }, 'Unknown option "baseURL". Did you mean baseUrl?'],
    [{ retries: 2 }, /^Unknown option "retries"\. There are: apiKey, baseUrl, mode, timeout, maxRetries, /],
  ])('names a misspelt option and the nearest one: %j', async (options, message) => {
    const { client } = await startService(() => {});
    expect(() => client(options as object)).toThrow(message);
  });

  test('names a misspelt idempotencyKey', async () => {
    const service = await startService();
    const options = { idempotencykey: 'order-17' } as object;
    const failure = await catchError(service.client().chargeMobileMoney(charge, options));
    expect(failure).toMatchObject({
      message: 'Unknown option "idempotencykey". Did you mean idempotencyKey?',
    });
    expect(service.requests).toEqual([]);
  });
});

describe('a secret in a reference', () => {
  const plainKey = '4vK9qLm2Xw7RtZ0pQs8Hn3c';
  const phone = '0244123456';
  const secretReferences = [API_KEY, 'sk_live_9fJ2kLm4Qw7RtZ', plainKey, EMAIL].map((part) => `TXN-${part}`);

  async function failingWith(
    reference: string,
    call: (client: PaymentsClient) => Promise<unknown>,
    data: object = {},
  ) {
    const reported: unknown[] = [];
    const report = (...what: unknown[]) => void reported.push(...what);
    const service = await startService((response, { method }) =>
      sendJson(
        response,
        200,
        method === 'GET'
          ? successBodies.verify({ reference, ...data })
          : successBodies.chargeMobileMoney({ reference, ...data }),
      ),
    );
    const client = service.client({
      apiKey: plainKey,
      journal: memoryJournal(),
      onEvent: report,
      logger: { debug: report, info: report, warn: report, error: report },
    });
    const failure = await catchError(call(client));
    expect(reported.length).toBeGreaterThan(1);
    return { failure, reported };
  }

  const calls: Record<
    string,
    [code: string, data: object, call: (client: PaymentsClient, reference: string) => Promise<unknown>]
  > = {
    'a charge of another amount': [
      'transaction_mismatch',
      { amount: '1.00' },
      (client) => client.chargeMobileMoney(charge, { idempotencyKey: null }),
    ],
    'a charge that cannot be read': [
      'outcome_unknown',
      { amount: [25] },
      (client) => client.chargeMobileMoney(charge, { idempotencyKey: null }),
    ],
    'a key that stays unresolved': [
      'outcome_unknown',
      { amount: [25] },
      async (client) => {
        await client.chargeMobileMoney(charge, { idempotencyKey: 'order-17' }).catch(() => {});
        await client.chargeMobileMoney(charge, { idempotencyKey: 'order-17' });
      },
    ],
    'a read of another amount': [
      'transaction_mismatch',
      { amount: '1.00' },
      (client, reference) => client.verify(reference, { expect: { amount: 2 } }),
    ],
    'a wait for another amount': [
      'transaction_mismatch',
      { amount: '1.00' },
      (client, reference) => client.waitForFinalStatus(reference, { expect: { amount: 2 } }),
    ],
    'a wait that ends': [
      'wait_timeout',
      { status: 'pending' },
      (client, reference) => client.waitForFinalStatus(reference, { timeout: 50 }),
    ],
  };

  test.each(Object.entries(calls))('%s', async (_, [code, data, call]) => {
    for (const reference of secretReferences) {
      const { failure, reported } = await failingWith(reference, (client) => call(client, reference), data);
      expect(failure).toMatchObject({ code, reference });
      const secrets = { key: reference === `TXN-${EMAIL}` ? API_KEY : reference.slice(4), email: EMAIL };
      expectNoSecrets([failure, reported], secrets, { getters: false });
      expectNoSecrets(failure, secrets, { getters: false });
    }
  });

  test.each(['requested', 'returned'])('a mismatch on a read: the reference %s', async (which) => {
    for (const reference of secretReferences) {
      const [requested, returned] = which === 'requested' ? [reference, 'TXN-1'] : ['TXN-1', reference];
      const { failure, reported } = await failingWith(returned, (client) => client.verify(requested));
      expect(failure).toMatchObject({ code: 'transaction_mismatch', reference: returned });
      const secrets = { key: reference === `TXN-${EMAIL}` ? API_KEY : reference.slice(4), email: EMAIL };
      expectNoSecrets([failure, reported], secrets, { getters: false });
      expectNoSecrets(failure, secrets, { getters: false });
    }
  });

  test('on a charge, also the phone number that was charged', async () => {
    for (const code of [
      'a charge of another amount',
      'a charge that cannot be read',
      'a key that stays unresolved',
    ]) {
      const [, data, call] = calls[code] ?? [];
      const reference = `TXN-${phone}`;
      const { failure, reported } = await failingWith(
        reference,
        (client) => call?.(client, reference) ?? Promise.resolve(),
        data,
      );
      expect(failure).toMatchObject({ reference });
      expectNoSecrets([failure, reported], { key: plainKey, phone }, { getters: false });
      expectNoSecrets(failure, { key: plainKey, phone }, { getters: false });
    }
  });

  test('shows a reference of digits alone', async () => {
    const reference = 'TXN-0244999888';
    const { failure, reported } = await failingWith(
      reference,
      (client) => client.verify(reference, { expect: { amount: 2 } }),
      { amount: '1.00' },
    );
    expect(String(failure)).toContain(reference);
    expect(JSON.stringify(failure)).toContain(reference);
    expect(reported).toContainEqual(expect.objectContaining({ type: 'request', reference }));
  });
});
