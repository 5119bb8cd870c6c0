import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  ConfigurationError,
  type FetchInit,
  OutcomeUnknownError,
  PaymentsClient,
  type PaymentsClientOptions,
} from '../../../src/index.ts';
import { memoryJournal } from '../../../src/stores/index.ts';
import { calls, posts, REFERENCE } from '../../helpers/calls.ts';
import { API_KEY, catchError, charge, successBodies } from '../../helpers/service.ts';

afterEach(() => vi.unstubAllGlobals());

/** Creates a client with a recorded fetch that responds to each charge. */
function seenClient(options: PaymentsClientOptions = {}) {
  const inits: FetchInit[] = [];
  const client = new PaymentsClient({
    apiKey: API_KEY,
    baseUrl: 'https://payments.example/api/v1',
    ...options,
    fetch: async (url, init) => {
      inits.push(init);
      const operation = url.endsWith('initialize') ? 'initialize' : 'chargeMobileMoney';
      return Response.json(init.method === 'GET' ? successBodies.verify() : successBodies[operation]());
    },
  });
  return { client, inits };
}

describe('runtimes whose fetch might send a charge twice', () => {
  const createHttpClient = () => ({ close: () => {} });

  test.each([
    ['Bun 1.0.36', 'Bun', { version: '1.0.36' }],
    ['Bun 0.9.9', 'Bun', { version: '0.9.9' }],
    ['Deno 1.46.3', 'Deno', { version: { deno: '1.46.3' } }],
    ['a Deno of unreadable version', 'Deno', { version: { deno: 'x' }, createHttpClient }],
    ['a Deno without createHttpClient', 'Deno', { version: { deno: '2.9.6' } }],
  ])('refuses a charge on %s, and sends nothing', async (_, name, runtime) => {
    vi.stubGlobal(name, runtime);
    const { client, inits } = seenClient();
    for (const operation of posts) {
      const failure = await catchError(calls[operation](client));
      expect(failure).toBeInstanceOf(ConfigurationError);
      expect(failure).toMatchObject({ operation, outcome: 'not_sent' });
    }
    expect(await client.verify(REFERENCE)).toMatchObject({ status: 'success' });
    expect(inits).toHaveLength(1);
  });

  test('frees the idempotency key of a charge that it refuses', async () => {
    const { client } = seenClient({ journal: memoryJournal() });
    vi.stubGlobal('Bun', { version: '1.0.0' });
    const key = { idempotencyKey: 'order-17' };
    expect(await catchError(client.chargeMobileMoney(charge, key))).toBeInstanceOf(ConfigurationError);
    vi.stubGlobal('Bun', { version: '1.1.0-canary.1' });
    expect(await client.chargeMobileMoney(charge, key)).toMatchObject({ status: 'processing' });
  });

  test.each(['1.1.0', '1.4.5', '2.0.0', '1.10.0-canary.20260826.1'])(
    'asks Bun %s for a connection of its own for each charge alone',
    async (version) => {
      vi.stubGlobal('Bun', { version });
      const { client, inits } = seenClient();
      for (const call of Object.values(calls)) await call(client);
      const keepalive = inits.map((init) => [init.method, 'keepalive' in init ? init.keepalive : 'not set']);
      expect(keepalive.sort()).toEqual([
        ['GET', 'not set'],
        ['POST', false],
        ['POST', false],
      ]);
    },
  );

  test('gives Deno a client without reuse for each charge, and closes it', async () => {
    const made: object[] = [];
    const close = vi.fn();
    const httpClient = { close };
    vi.stubGlobal('Deno', {
      version: { deno: '2.0.0' },
      createHttpClient: (options: object) => {
        made.push(options);
        return httpClient;
      },
    });
    const { client, inits } = seenClient();
    await client.verify(REFERENCE);
    expect(made).toEqual([]);
    await client.chargeMobileMoney(charge);
    expect(inits[1]?.client).toBe(httpClient);
    expect(made).toEqual([{ poolMaxIdlePerHost: 0, http2: false }]);
    expect(close).toHaveBeenCalledTimes(1);
  });

  test('closes the client of Deno when a charge fails', async () => {
    const close = vi.fn();
    vi.stubGlobal('Deno', { version: { deno: '2.9.6' }, createHttpClient: () => ({ close }) });
    const fetch = () => Promise.reject(new TypeError('reset'));
    const client = new PaymentsClient({ apiKey: API_KEY, baseUrl: 'https://payments.example', fetch });
    expect(await catchError(client.chargeMobileMoney(charge))).toBeInstanceOf(OutcomeUnknownError);
    expect(close).toHaveBeenCalledTimes(1);
  });
});
