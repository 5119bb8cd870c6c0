import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PaymentControls } from '../../../../src/developers/mock/index.ts';
import { isObject, parseJson } from '../../../../src/support/untrusted.ts';
import { assumed, documented } from '../../../helpers/openapi/description.ts';
import { findMockResponseIssues } from '../../../helpers/openapi/mock-responses.ts';
import { chooseSize } from '../../../helpers/sized.ts';
import { startTestSandbox } from '../sandbox/start-sandbox.ts';
import { charge as chargeInput, startMock } from './start-mock.ts';

interface Service {
  readonly controls: PaymentControls;
  readonly baseUrl: string;
  readonly liveKey: string;
  readonly testKey: string;
}

const services: [string, () => Promise<Service>][] = [
  [
    'mock',
    async () => {
      const { mock } = startMock();
      return { controls: mock, baseUrl: mock.baseUrl, liveKey: mock.apiKey, testKey: mock.testKey };
    },
  ],
  [
    'sandbox',
    async () => {
      const { sandbox } = await startTestSandbox();
      const { baseUrl, liveKey, testKey } = sandbox;
      return { controls: sandbox, baseUrl, liveKey, testKey };
    },
  ],
];

const charge = { ...chargeInput, amount: 25.5 };
const payment = { amount: 25.5, customer_email: charge.customer_email };
const paths = {
  initialize: '/transactions/initialize',
  chargeMobileMoney: '/transactions/charge-mobile-money',
};

/** What of a request a test chooses. */
interface Sent {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** Sends a request as any HTTP client would. Returns the response, and what the descriptions find wrong with it. */
async function send({ baseUrl }: Service, key: string, path: string, { method, body, headers }: Sent = {}) {
  const text = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
  const request = {
    method: method ?? (text === undefined ? 'GET' : 'POST'),
    headers: new Headers({
      authorization: `Bearer ${key}`,
      ...(text === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    }),
  };
  const response = await fetch(baseUrl + path, { ...request, body: text ?? null });
  const received = { status: response.status, headers: response.headers, body: await response.text() };
  const parsed = parseJson(received.body);
  const data = isObject(parsed) && 'data' in parsed ? Object(parsed.data) : {};
  return {
    ...received,
    data,
    issues: findMockResponseIssues({ method: request.method, path }, received),
    requestIssues: documented.findRequestIssues({ path, ...request, body: text ?? '' }),
  };
}

describe.each(services)('the %s', (name, start) => {
  test('refuses as described, each with its own status', async () => {
    const service = await start();
    const { controls, liveKey, testKey } = service;
    const { data } = await send(service, liveKey, paths.initialize, { body: payment });
    const verify = `/transactions/verify/${data.reference}`;
    const refusals: (readonly [status: number, key: string, path: string, sent: Sent])[] = [
      ...['', '{', 'amount=5'].map((body) => [400, liveKey, paths.initialize, { body }] as const),
      ...['sk_live_other', `${testKey}2`, testKey.slice(0, -1), ''].flatMap((key) => [
        [401, key, paths.initialize, { body: payment }] as const,
        [401, key, paths.chargeMobileMoney, { body: charge }] as const,
        [401, key, verify, {}] as const,
      ]),
      ...[liveKey, `Basic ${liveKey}`, `bearer ${liveKey}`].map(
        (authorization) => [401, liveKey, verify, { headers: { authorization } }] as const,
      ),
      [403, testKey, paths.chargeMobileMoney, { body: charge }],
      [404, testKey, verify, {}],
      ...['TXN-none', 'TXN-%', 'TXN-%2F'].map(
        (reference) => [404, liveKey, `/transactions/verify/${reference}`, {}] as const,
      ),
      ...[
        '/',
        '/transactions/',
        '/transactions/refund',
        `${paths.initialize}/`,
        `${paths.initialize}/x`,
        '/transactions/Initialize',
        '/transactions/verify',
        '/transactions/verify/',
        `${verify}/x`,
        `/v2${paths.initialize}`,
      ].map((path) => [404, liveKey, path, { body: payment }] as const),
      [405, liveKey, paths.initialize, {}],
      [405, liveKey, paths.chargeMobileMoney, { method: 'PUT', body: charge }],
      [405, liveKey, verify, { method: 'POST', body: {} }],
      [405, liveKey, verify, { method: 'DELETE' }],
      ...['text/plain', 'application/jsonp', 'application/x-www-form-urlencoded'].flatMap((type) => [
        [415, liveKey, paths.initialize, { body: payment, headers: { 'content-type': type } }] as const,
        [415, liveKey, paths.chargeMobileMoney, { body: charge, headers: { 'content-type': type } }] as const,
      ]),
      ...['null', '[]', '"text"', '5'].map((body) => [422, liveKey, paths.initialize, { body }] as const),
    ];
    if (name === 'sandbox') {
      refusals.push([413, liveKey, paths.initialize, { body: 'x'.repeat(2 ** 20 + 1) }]);
    }
    for (const [status, key, path, sent] of refusals) {
      const response = await send(service, key, path, sent);
      expect([key, path, sent, response.status, response.issues]).toEqual([key, path, sent, status, []]);
      const allow = path === verify ? 'GET' : 'POST';
      if (status === 405) expect(response.headers.get('allow')).toBe(allow);
    }
    expect(controls.transactions).toHaveLength(1);
  });

  test('names each invalid field, and all of them together', async () => {
    const service = await start();
    const invalid: [field: string, values: unknown[]][] = [
      ['amount', [undefined, null, '25.50', 'much', true, 0, 0.99, -5, 1.005]],
      ['customer_email', [undefined, 5, 'nobody']],
      ['currency', [null, 'GH', 'CEDI', 936]],
      ['phone', [undefined, 244123456]],
      ['network', [undefined, 'vodafone', 'MTN', null]],
    ];
    const refuse = async (path: string, body: object) => {
      const response = await send(service, service.liveKey, path, { body });
      expect([body, response.status, response.issues]).toEqual([body, 422, []]);
      return JSON.parse(response.body).errors.map(({ field }: { field: string }) => field);
    };
    for (const [field, values] of invalid)
      for (const value of values) {
        expect(await refuse(paths.chargeMobileMoney, { ...charge, [field]: value })).toEqual([field]);
        if (field in payment || field === 'currency')
          expect(await refuse(paths.initialize, { ...payment, [field]: value })).toEqual([field]);
      }
    const all = await refuse(paths.chargeMobileMoney, { amount: '5', network: 'vodafone', phone: 24 });
    expect(all.toSorted()).toEqual(['amount', 'customer_email', 'network', 'phone']);
    expect(await refuse(paths.initialize, { ...payment, sandbox_return_url: 'javascript:1' })).toEqual([
      'sandbox_return_url',
    ]);
    expect(service.controls.transactions).toEqual([]);
  });

  test('accepts and refuses what the descriptions do (property)', async () => {
    const service = await start();
    const counts = { accepted: 0, refused: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...Object.values(paths)),
        bodies,
        contentTypes,
        async (path, body, type) => {
          const text = typeof body === 'string' ? body : JSON.stringify(body);
          const headers = { 'content-type': type, 'x-request-id': 'b6f0', 'user-agent': 'test' };
          const response = await send(service, service.liveKey, path, { body: text, headers });
          expect(response.issues).toEqual([]);
          const isAccepted = response.status === 200;
          counts[isAccepted ? 'accepted' : 'refused'] += 1;
          // Nothing undocumented is accepted, and nothing refused that the package would send.
          if (isAccepted) expect(response.requestIssues).toEqual([]);
          const all = new Headers({ ...headers, authorization: `Bearer ${service.liveKey}` });
          const request = { method: 'POST', path, headers: all, body: text };
          if (!isAccepted && hasTwoDecimals(body)) expect(assumed.findRequestIssues(request)).not.toEqual([]);
        },
      ),
      { numRuns: chooseSize(100, 1_000) },
    );
    expect(Math.min(counts.accepted, counts.refused)).toBeGreaterThan(10);
  });
});

/** A schema cannot say it of large amounts: a multiple of 0.01 is not exact. */
function hasTwoDecimals(body: unknown): boolean {
  const amount = isObject(body) && 'amount' in body ? body.amount : undefined;
  return typeof amount !== 'number' || /^-?\d+(?:\.\d{1,2})?$/.test(String(amount));
}

const text = fc.string({ unit: 'binary', maxLength: 10 });
const fields = {
  amount: fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 99, max: 10 ** 7 }).map((cents) => cents / 100) },
    fc.double(),
    fc.constantFrom('25.50', null, 0, 2 ** 46, 2 ** 47),
  ),
  customer_email: fc.oneof(
    { weight: 8, arbitrary: fc.emailAddress() },
    text,
    fc.tuple(text, text).map((parts) => parts.join('@')),
  ),
  phone: fc.oneof({ weight: 8, arbitrary: text.map((rest) => `0${rest}`) }, text, fc.integer()),
  network: fc.oneof({ weight: 8, arbitrary: fc.constantFrom('mtn', 'telecel', 'airteltigo') }, text),
  currency: fc.oneof(
    { weight: 8, arbitrary: fc.stringMatching(/^[A-Z]{3}$/) },
    fc.stringMatching(/^[A-Za-z]{2,4}$/),
  ),
  metadata: fc.jsonValue(),
};
const bodies = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record(fields, { requiredKeys: ['amount', 'customer_email', 'phone', 'network'] }),
  },
  fc.record(fields, { requiredKeys: [] }),
  fc.jsonValue(),
  text,
);
const contentTypes = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('application/json', 'application/json; charset=utf-8') },
  fc.constantFrom('text/plain', 'application/jsonp', 'application/x-www-form-urlencoded'),
);
