import { getEventListeners } from 'node:events';
import { expect, test, vi } from 'vitest';
import type { PaymentsClient } from '../../../src/index.ts';
import { memoryJournal } from '../../../src/journal/index.ts';
import { charged } from '../../helpers/keyed-calls.ts';
import { catchError, charge, sendJson, startService, successBodies } from '../../helpers/service.ts';
import { heldService } from './held-service.ts';

/** A client, and how many listeners there are on the signals that it made for itself, such as that of `close()`. */
function watched(make: () => PaymentsClient): { client: PaymentsClient; listeners: () => number } {
  const signals: AbortSignal[] = [];
  class Recorded extends AbortController {
    constructor() {
      super();
      signals.push(this.signal);
    }
  }
  vi.stubGlobal('AbortController', Recorded);
  const client = make();
  vi.unstubAllGlobals();
  expect(signals).not.toEqual([]);
  const listeners = () =>
    signals.reduce((count, signal) => count + getEventListeners(signal, 'abort').length, 0);
  return { client, listeners };
}

test('leaves no listener on the signal of close() for each keyed call', async () => {
  const service = await startService((response, { body }, count) =>
    JSON.parse(body).amount === 30
      ? sendJson(response, 500, {})
      : sendJson(response, 200, successBodies.chargeMobileMoney({ reference: `TXN-${count}` })),
  );
  const { client, listeners } = watched(() => service.client({ journal: memoryJournal() }));
  const before = listeners();
  for (let orders = 0; orders < 5; orders++) {
    const idempotencyKey = `order-${orders}`;
    await charged(client, { idempotencyKey });
    await charged(client, { idempotencyKey });
    await catchError(client.chargeMobileMoney({ ...charge, amount: 40 }, { idempotencyKey }));
    await catchError(client.chargeMobileMoney({ ...charge, amount: 30 }, { idempotencyKey: `${orders}` }));
    await catchError(charged(client, { idempotencyKey, signal: AbortSignal.abort() }));
  }
  expect(listeners()).toBe(before);
});

test('leaves no listener on it for each retry', async () => {
  const service = await startService((response, { method }, count) => {
    if (count % 3 !== 0) sendJson(response, 429, {});
    else
      sendJson(response, 200, method === 'GET' ? successBodies.verify() : successBodies.chargeMobileMoney());
  });
  const { client, listeners } = watched(() => service.client({ journal: memoryJournal(), maxRetries: 2 }));
  vi.spyOn(Math, 'random').mockReturnValue(0);
  const before = listeners();
  await charged(client);
  await client.chargeMobileMoney(charge, { idempotencyKey: null });
  await client.verify('TXN-8f2c61d0');
  expect(service.requests).toHaveLength(9);
  expect(listeners()).toBe(before);
});

test('listens to it while a keyed call waits for another one', async () => {
  const { service, arrived, respond } = await heldService();
  const journal = memoryJournal();
  const first = charged(service.client({ journal }));
  await arrived;
  const waiting = Promise.withResolvers<void>();
  const onEvent = ({ type }: { type: string }) => {
    if (type === 'journal') waiting.resolve();
  };
  const { client, listeners } = watched(() => service.client({ journal, onEvent }));
  const before = listeners();
  const second = charged(client);
  await waiting.promise;
  expect(listeners()).toBeGreaterThan(before);
  respond();
  await first;
  expect(await second).toMatchObject({ replayed: true });
  expect(listeners()).toBe(before);
});
