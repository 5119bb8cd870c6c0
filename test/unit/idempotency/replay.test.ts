import { beforeEach, describe, expect, expectTypeOf, onTestFinished, test, vi } from 'vitest';
import type { InitializedPayment, MobileMoneyCharge } from '../../../src/index.ts';
import { kinds } from '../../helpers/journals.ts';
import { charged, KEY, keyed, posts, replayOf } from '../../helpers/keyed-calls.ts';
import { payment, type Service, sendJson, startService, successBodies } from '../../helpers/service.ts';
import { chooseSize } from '../../helpers/sized.ts';

const COUNT = chooseSize(40, 200);

/** Each payment that the service makes has a reference of its own. */
async function countingService(): Promise<Service> {
  return startService((response, { path }, count) => {
    const reference = `TXN-${count}`;
    if (path.endsWith('initialize')) {
      const checkout_url = `https://pay.example/checkout/${reference}`;
      sendJson(
        response,
        200,
        successBodies.initialize({ reference, checkout_url, channel: ['card', { fee: '0.10' }] }),
      );
    } else
      sendJson(
        response,
        201,
        successBodies.chargeMobileMoney({ reference, prompt: { seconds: 90 }, tags: [1, null] }),
      );
  });
}

describe.each(kinds)('a journal in %s', (_kind, handles) => {
  test.each(posts)('replays the recorded result of %s, and sends nothing', async (operation) => {
    const service = await countingService();
    const journal = handles()();
    const client = service.client({ journal });
    const first = await keyed[operation](client);
    expect(await keyed[operation](client)).toEqual(replayOf(first));
    expect(first).toMatchObject({ reference: 'TXN-1', amount: '25.50', currency: 'GHS' });
    expect(service.requests).toHaveLength(1);
  });

  test('replays it through a later client with another handle', async () => {
    const service = await countingService();
    const handle = handles();
    const using = service.client({ journal: handle() });
    const first = await charged(using);
    using.close();
    const later = service.client({ journal: handle(), apiKey: 'sk_test_rotated_7Hq2Zp' });
    expect(await charged(later)).toEqual(replayOf(first));
    expect(service.requests).toHaveLength(1);
  });

  test('recognises an input where the runtime has only Web Crypto, as a Worker does', async () => {
    const service = await countingService();
    const client = service.client({ journal: handles()() });
    const first = await charged(client);
    const builtin = vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined);
    onTestFinished(() => builtin.mockRestore());
    const digest = vi.spyOn(crypto.subtle, 'digest');
    onTestFinished(() => digest.mockRestore());
    expect(await charged(client)).toEqual(replayOf(first));
    expect(digest).toHaveBeenCalled();
    expect(service.requests).toHaveLength(1);
  });

  test(`makes one charge each for ${COUNT} concurrent keys`, async () => {
    const service = await countingService();
    const client = service.client({ journal: handles()() });
    const keys = Array.from({ length: COUNT }, (_, index) => `order-${index}`);
    const all = () => Promise.all(keys.map((idempotencyKey) => charged(client, { idempotencyKey })));
    const first = await all();
    expect(new Set(first.map(({ reference }) => reference)).size).toBe(COUNT);
    expect(await all()).toEqual(first.map(replayOf));
    expect(service.requests).toHaveLength(COUNT);
  });

  test('makes one charge for many concurrent calls, and all get its result', async () => {
    const service = await countingService();
    const handle = handles();
    const clients = Array.from({ length: 5 }, () => service.client({ journal: handle() }));
    const results = await Promise.all(
      Array.from({ length: 25 }, (_, at) => clients.at(at % 5)).flatMap((client) =>
        client ? [charged(client)] : [],
      ),
    );
    expect(results).toHaveLength(25);
    const fresh = results.filter(({ replayed }) => !replayed);
    expect(fresh).toHaveLength(1);
    const inOrder = (result: object) => JSON.stringify(Object.entries(replayOf(result)).sort());
    expect(new Set(results.map(inOrder)).size).toBe(1);
    expect(service.requests).toHaveLength(1);
  });
});

describe('a replayed result', () => {
  const journals = kinds[0]?.[1];
  let client: ReturnType<Service['client']>;
  let body: unknown;
  beforeEach(async () => {
    const service = await startService((response) => sendJson(response, 200, body));
    client = service.client({ journal: journals?.()() });
    onTestFinished(() => expect(service.requests).toHaveLength(1));
  });

  test('keeps a status that the service does not document, with its type', async () => {
    body = successBodies.chargeMobileMoney({ status: 'queued' });
    const first = await charged(client);
    const again = await charged(client);
    expect(again).toEqual(replayOf(first));
    expect(again).toMatchObject({ status: 'unrecognised', raw_status: 'queued' });
  });

  test('has the amount with two decimals, and the currency as the service wrote it', async () => {
    body = successBodies.chargeMobileMoney({ amount: '25.5', currency: 'ghs' });
    await charged(client);
    expect(await charged(client)).toMatchObject({ amount: '25.50', currency: 'ghs' });
  });

  test('has replayed: true and an empty message', async () => {
    body = successBodies.chargeMobileMoney({ replayed: true });
    const first = await charged(client);
    expect(first).toMatchObject({ replayed: false, message: expect.stringContaining('prompt') });
    expect(await charged(client)).toMatchObject({ replayed: true, message: '' });
  });

  test('has replayed: true for a payment too', async () => {
    body = successBodies.initialize({ replayed: 'yes' });
    expect(await keyed.initialize(client)).toMatchObject({ replayed: false });
    expect(await keyed.initialize(client)).toMatchObject({ replayed: true });
  });

  test('has the type of the operation', async () => {
    body = successBodies.initialize();
    const first = client.initialize(payment, { idempotencyKey: KEY });
    expectTypeOf(first).resolves.toEqualTypeOf<InitializedPayment>();
    expectTypeOf(client.chargeMobileMoney).returns.resolves.toEqualTypeOf<MobileMoneyCharge>();
    expect(await first).toMatchObject({ checkout_url: 'https://pay.example/checkout/TXN-8f2c61d0' });
  });
});
