import { describe, expect, test } from 'vitest';
import type { PaymentsEvent } from '../../../src/index.ts';
import { memoryJournal } from '../../../src/stores/index.ts';
import { sharedStore } from '../../helpers/journals.ts';
import { charged, KEY, replayOf } from '../../helpers/keyed-calls.ts';
import { catchError, charge, payment, sendJson, startService, successBodies } from '../../helpers/service.ts';
import { heldService } from './held-service.ts';

test('sends headers and extra fields with a key, but not the key', async () => {
  const service = await startService();
  const client = service.client({ journal: memoryJournal(), headers: { 'x-shop': 'accra' } });
  await charged(client, { headers: { 'x-trace': '7' }, extraBody: { callback_url: 'https://shop.example' } });
  const [request] = service.requests;
  expect(request?.headers).toMatchObject({ 'x-shop': 'accra', 'x-trace': '7' });
  expect(JSON.parse(request?.body ?? '')).toEqual({
    ...charge,
    amount: 25.5,
    callback_url: 'https://shop.example',
  });
  expect(JSON.stringify(request)).not.toContain(KEY);
});

test('refuses extra fields that are nested too deep for a fingerprint', async () => {
  const service = await startService((response, _request, count) =>
    sendJson(response, 200, successBodies.chargeMobileMoney({ reference: `TXN-${count}` })),
  );
  const shared = sharedStore();
  const client = service.client({ journal: shared.journal() });
  const refusals: unknown[] = [];
  // How deep is too deep depends on the stack that is left.
  for (let depth = 500; depth <= 10_000; depth += 500) {
    let nested: unknown = 1;
    for (let level = 0; level < depth; level++) nested = level % 2 ? [nested] : { nested };
    const idempotencyKey = `order of ${depth}`;
    const call = charged(client, { idempotencyKey, extraBody: { nested } });
    await call.catch((error: unknown) => {
      refusals.push(error);
      expect(shared.states(idempotencyKey)).toEqual([]);
    });
  }
  expect(refusals).not.toEqual([]);
  for (const refusal of refusals)
    expect(refusal).toMatchObject({ code: 'invalid_input', issues: [{ path: 'extraBody' }] });
  expect(service.requests).toHaveLength(20 - refusals.length);
});

test('applies the timeout to the request, not to the journal', async () => {
  const shared = sharedStore();
  const service = await startService(() => {});
  const call = charged(service.client({ journal: shared.journal() }), { timeout: 50 });
  expect(await catchError(call)).toMatchObject({ outcome: 'unknown', cause: { code: 'request_timeout' } });
  expect(shared.states(KEY)).toEqual(['begun', 'unknown']);
});

test('records and returns a charge in flight at close()', async () => {
  const journal = memoryJournal();
  const { service, arrived, respond } = await heldService();
  const client = service.client({ journal });
  const call = charged(client);
  await arrived;
  client.close();
  respond();
  expect(await charged(service.client({ journal }))).toEqual(replayOf(await call));
  expect(service.requests).toHaveLength(1);
});

/** The same for all requests, so that they can be compared. */
const headers = { 'x-request-id': 'req-7' };

/** Records events without what differs between two equal requests. */
function recordEvents() {
  const events: PaymentsEvent[] = [];
  const onEvent = (event: PaymentsEvent) => {
    events.push({
      ...event,
      ...('duration' in event ? { duration: 0 } : {}),
      ...('requestId' in event ? { requestId: '' } : {}),
    });
  };
  return { events, onEvent };
}

describe('calls without a key, by a client with a journal', () => {
  async function collectReports(journal: boolean) {
    const { events, onEvent } = recordEvents();
    const shared = sharedStore();
    const service = await startService();
    const client = service.client({ onEvent, headers, ...(journal ? { journal: shared.journal() } : {}) });
    const results = [
      await client.chargeMobileMoney(charge, { idempotencyKey: null }),
      await client.chargeMobileMoney(charge, { idempotencyKey: null }),
      await client.initialize(payment, { idempotencyKey: null }),
      await client.initialize(payment),
    ];
    const requests = service.requests.map(({ headers, ...request }) => ({
      ...request,
      headers: { ...headers, host: '', 'x-request-id': '' },
    }));
    return { events, results, requests, writes: shared.writes };
  }

  test('behave as without a journal, and record nothing', async () => {
    const withJournal = await collectReports(true);
    expect(withJournal).toEqual(await collectReports(false));
    expect(withJournal.requests).toHaveLength(4);
    expect(withJournal.writes).toEqual([]);
  });
});

test('sends a new key with the events of a call without one', async () => {
  const collectReports = async (idempotencyKey: string | null) => {
    const { events, onEvent } = recordEvents();
    const service = await startService();
    const client = service.client({ onEvent, headers, journal: memoryJournal() });
    const result = await client.chargeMobileMoney(charge, { idempotencyKey });
    return { result, events, body: service.requests[0]?.body };
  };
  expect(await collectReports(KEY)).toEqual(await collectReports(null));
});
