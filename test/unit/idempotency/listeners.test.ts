import { expect, test, vi } from 'vitest';
import { readAccess } from '../../../src/follow-ups/sweeper.ts';
import type { PaymentsClientOptions } from '../../../src/index.ts';
import { memoryJournal } from '../../../src/stores/index.ts';
import { charged } from '../../helpers/keyed-calls.ts';
import {
  catchError,
  charge,
  type Service,
  sendJson,
  startService,
  successBodies,
} from '../../helpers/service.ts';
import { heldService } from './held-service.ts';

/** A client with a journal, and how many listeners there are on its signal of `close()`. */
function watched(service: Pick<Service, 'client'>, options: PaymentsClientOptions = {}) {
  const journal = options.journal ?? memoryJournal();
  const client = service.client({ ...options, journal });
  const { closing } = readAccess(client, journal);
  const added = vi.spyOn(closing, 'addEventListener');
  const removed = vi.spyOn(closing, 'removeEventListener');
  const listeners = () => {
    const gone = new Set(removed.mock.calls.map(([, listener]) => listener));
    return added.mock.calls.filter(([, listener]) => !gone.has(listener)).length;
  };
  return { client, listeners, countAdded: () => added.mock.calls.length };
}

test('leaves no listener on the signal of close() for each keyed call', async () => {
  const service = await startService((response, { body }, count) =>
    JSON.parse(body).amount === 30
      ? sendJson(response, 500, {})
      : sendJson(response, 200, successBodies.chargeMobileMoney({ reference: `TXN-${count}` })),
  );
  const { client, listeners, countAdded } = watched(service);
  for (let orders = 0; orders < 5; orders++) {
    const idempotencyKey = `order-${orders}`;
    await charged(client, { idempotencyKey });
    await charged(client, { idempotencyKey });
    await catchError(client.chargeMobileMoney({ ...charge, amount: 40 }, { idempotencyKey }));
    await catchError(client.chargeMobileMoney({ ...charge, amount: 30 }, { idempotencyKey: `${orders}` }));
    await catchError(charged(client, { idempotencyKey, signal: AbortSignal.abort() }));
  }
  expect(countAdded()).toBeGreaterThan(0);
  expect(listeners()).toBe(0);
});

test('leaves no listener on it for each retry', async () => {
  const service = await startService((response, { method }, count) => {
    if (count % 3 !== 0) sendJson(response, 429, {});
    else
      sendJson(response, 200, method === 'GET' ? successBodies.verify() : successBodies.chargeMobileMoney());
  });
  const { client, listeners, countAdded } = watched(service, { maxRetries: 2 });
  vi.spyOn(Math, 'random').mockReturnValue(0);
  await charged(client);
  await client.chargeMobileMoney(charge, { idempotencyKey: null });
  await client.verify('TXN-8f2c61d0');
  expect(service.requests).toHaveLength(9);
  expect(countAdded()).toBeGreaterThan(0);
  expect(listeners()).toBe(0);
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
  const { client, listeners } = watched(service, { journal, onEvent });
  const second = charged(client);
  await waiting.promise;
  expect(listeners()).toBe(1);
  respond();
  await first;
  expect(await second).toMatchObject({ replayed: true });
  expect(listeners()).toBe(0);
});
