import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  networks,
  OutcomeUnknownError,
  PaymentsClient,
  type PaymentsClientOptions,
  PaymentsError,
} from '../../src/index.ts';
import { undiciTransport } from '../../src/node/index.ts';
import { memoryJournal } from '../../src/stores/index.ts';
import { refusedConnection } from '../helpers/keyed-calls.ts';
import { DescribedService, type Trouble } from '../helpers/openapi/described-service.ts';
import { assumed, type DescribedRequest, documented } from '../helpers/openapi/description.ts';
import { note } from '../helpers/resolution-note.ts';
import { createResetError } from '../helpers/scripted-service.ts';
import { catchError, startService } from '../helpers/service.ts';
import { chooseSize } from '../helpers/sized.ts';

/** Starts a way for requests to reach a service: what a client needs for it. */
type Start = (service: DescribedService) => Promise<PaymentsClientOptions>;

const base = 'http://127.0.0.1:4010/api/v1';

async function startHttp(service: DescribedService): Promise<{ baseUrl: string }> {
  const { baseUrl } = await startService((response, { method, path, headers, body }) => {
    const all = new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    const result = service.respond({ method, path: removePrefix(path, '/api/v1'), headers: all, body });
    if (!(result instanceof Response)) {
      response.destroy();
      return;
    }
    result.text().then((text) => response.writeHead(result.status, [...result.headers].flat()).end(text));
  });
  return { baseUrl };
}

function removePrefix(path: string, prefix: string): string {
  if (!path.startsWith(`${prefix}/`)) throw new Error('The request is not below the base URL.');
  return path.slice(prefix.length);
}

const ways: [string, Start][] = [
  [
    'a fetch of the caller',
    async (service) => ({
      baseUrl: base,
      fetch: async (url, { method, headers, body }) => {
        const path = removePrefix(url, base);
        const result = service.respond({ method, path, headers: new Headers(headers), body: body ?? '' });
        if (result === 'refused') return refusedConnection(url);
        if (result === 'reset') throw createResetError();
        return result;
      },
    }),
  ],
  ['the default transport', startHttp],
  ['undiciTransport', async (service) => ({ ...(await startHttp(service)), transport: undiciTransport() })],
];

const text = fc.string({ unit: 'binary', maxLength: 12 });
const emails = fc.oneof(
  fc.emailAddress(),
  fc
    .tuple(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }), fc.domain())
    .filter(([name]) => /^[^\s@"\p{Cc}]{1,64}$/u.test(name))
    .map((parts) => parts.join('@')),
);
const amounts = fc.integer({ min: 100, max: 2 ** 46 * 100 }).chain((cents) => {
  const number = cents / 100;
  return fc.constantFrom<number | string>(number, number.toFixed(2), String(number));
});
const payments = fc.record(
  {
    amount: amounts,
    customer_email: emails,
    currency: fc.oneof(fc.stringMatching(/^[A-Za-z]{3}$/), fc.constant(undefined)),
  },
  { requiredKeys: ['amount', 'customer_email'] },
);
const charges = fc
  .record({
    payment: payments,
    phone: fc.oneof(
      fc.constantFrom('0244123456', '+233 24 412 3456', '٠٢٤٤١٢٣٤٥٦'),
      fc.tuple(text, fc.nat(), text).map((parts) => parts.join('').replace(/\p{Cc}/gu, '')),
    ),
    network: fc.constantFrom(...networks),
  })
  .map(({ payment, ...rest }) => ({ ...payment, ...rest }));

const references = fc.oneof(
  fc.stringMatching(/^TXN-[A-Z0-9]{1,12}$/),
  fc.stringMatching(/^TXN-[!"$&-.0->@-[\]-~]{1,30}$/),
  fc.constantFrom('TXN-..', `TXN-${'~'.repeat(251)}`),
);
const options = fc.record(
  {
    headers: fc.dictionary(
      fc.stringMatching(/^[xX]-Shop-[a-zA-Z]{1,6}$/),
      fc.stringMatching(/^[ -~]{0,20}$/),
      {
        maxKeys: 2,
      },
    ),
    maxRetries: fc.constantFrom(0, 2),
  },
  { requiredKeys: [] },
);
const extraBodies = fc.record(
  {
    extraBody: fc.dictionary(fc.stringMatching(/^(?:x_[a-z]{1,8}|__proto__|callback_url)$/), fc.jsonValue(), {
      maxKeys: 3,
    }),
  },
  { requiredKeys: [] },
);
const keys = fc.record({ idempotencyKey: fc.constantFrom('order-1', 'order-2', null) });

/** A call of a client, or a few that belong together. Its errors are those of the troubles. */
type Call = (client: PaymentsClient, service: DescribedService) => Promise<unknown>;

const createCalls: fc.Arbitrary<Call> = fc.oneof(
  fc.tuple(payments, options, extraBodies, keys).map(
    ([input, ...given]): Call =>
      (client) =>
        client.initialize(input, Object.assign({}, ...given)),
  ),
  fc.tuple(charges, options, extraBodies, keys).map(
    ([input, ...given]): Call =>
      (client) =>
        client.chargeMobileMoney(input, Object.assign({}, ...given)),
  ),
  fc.tuple(charges, fc.uuid()).map(
    ([input, idempotencyKey]): Call =>
      async (client, service) => {
        service.loseNext();
        const error = await catchError(client.chargeMobileMoney(input, { idempotencyKey }));
        expect(error).toBeInstanceOf(OutcomeUnknownError);
        await client.resolve(idempotencyKey, { reference: service.lastReference }, note);
      },
  ),
);
const readCalls: fc.Arbitrary<Call> = fc.oneof(
  fc.tuple(references, options).map(
    ([reference, given]): Call =>
      (client) =>
        client.verify(reference, given),
  ),
  fc.tuple(references, options).map(
    ([reference, given]): Call =>
      (client) =>
        client.check(reference, given),
  ),
  references.map(
    (reference): Call =>
      (client) =>
        client.waitForFinalStatus(reference),
  ),
  references.map(
    (reference): Call =>
      (client) =>
        collect(client.watch(reference)),
  ),
  fc.array(references, { maxLength: 4 }).map(
    (list): Call =>
      (client) =>
        collect(client.reconcile(list)),
  ),
);
const keysOfApi = fc
  .stringMatching(/^sk_(?:test|live)_[!-~]{1,30}$/)
  .chain((key) => fc.constantFrom<NonNullable<PaymentsClientOptions['apiKey']>>(key, async () => key));
const troubles = fc.array(fc.constantFrom<Trouble | null>('busy', 'reset', 'refused', null, null, null), {
  maxLength: 8,
});

// Retries then follow at once.
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0));
afterEach(() => void vi.restoreAllMocks());

describe.each(ways)('over %s', (_, start) => {
  test('every request of the client is as described (property)', async () => {
    const service = new DescribedService();
    const way = await start(service);
    const seen = { POST: 0, GET: 0, retried: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(createCalls, readCalls), { minLength: 1, maxLength: 4 }),
        keysOfApi,
        troubles,
        async (calls, apiKey, list) => {
          service.restart(list);
          using client = new PaymentsClient({
            ...way,
            apiKey,
            journal: memoryJournal(),
            polling: { initialDelay: 0, minDelay: 1, maxDelay: 2, maxRequestsPerSecond: 10_000 },
          });
          for (const call of calls) {
            await call(client, service).catch((error: unknown) => {
              if (!(error instanceof PaymentsError)) throw error;
            });
          }
          for (const request of service.requests) expectDescribed(request);
          for (const { method } of service.requests) seen[method === 'GET' ? 'GET' : 'POST'] += 1;
          seen.retried += countRetries(service.requests);
        },
      ),
      { numRuns: chooseSize(40, 200) },
    );
    expect(Math.min(seen.POST, seen.GET, seen.retried)).toBeGreaterThan(10);
  });
});

function expectDescribed(request: DescribedRequest): void {
  const issues = [documented, assumed].map((description) => description.findRequestIssues(request));
  expect({ path: request.path, issues }).toEqual({ path: request.path, issues: [[], []] });
  // A schema cannot say it: a multiple of 0.01 is not exact.
  if (request.method === 'POST') expect(request.body).toMatch(/"amount":\d+(?:\.\d{1,2})?[,}]/);
  else
    expect([request.headers.get('content-length'), request.headers.get('transfer-encoding')]).toEqual([
      null,
      null,
    ]);
}

async function collect(list: AsyncIterable<unknown>): Promise<unknown[]> {
  const items = [];
  for await (const item of list) items.push(item);
  return items;
}

/** Counts the requests that repeat the one before. */
function countRetries(requests: readonly DescribedRequest[]): number {
  const isSame = (one: DescribedRequest | undefined, other: DescribedRequest) =>
    one?.path === other.path && one.body === other.body;
  return requests.filter((request, index) => isSame(requests[index - 1], request)).length;
}
