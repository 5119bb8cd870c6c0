import { AsyncLocalStorage } from 'node:async_hooks';
import diagnostics, { type TracingChannel, type TracingChannelSubscribers } from 'node:diagnostics_channel';
import { inspect } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { OperationName, RequestTrace } from '../../../src/index.ts';
import { memoryJournal } from '../../../src/stores/index.ts';
import { REFERENCE } from '../../helpers/calls.ts';
import { API_KEY, catchError, charge, sendJson, startService, successBodies } from '../../helpers/service.ts';

const channelOf = (operation: OperationName): TracingChannel<unknown, RequestTrace> =>
  diagnostics.tracingChannel(`payment-collection-client:${operation}`);

const steps = ['start', 'end', 'error', 'asyncStart', 'asyncEnd'] as const;

/** Records each step of a channel, with a copy of its context, until the test ends. */
function record(operation: OperationName) {
  const seen: [step: string, trace: RequestTrace][] = [];
  const subscribers = Object.fromEntries(
    steps.map((step) => [step, (trace: RequestTrace) => void seen.push([step, { ...trace }])]),
  ) as unknown as TracingChannelSubscribers<RequestTrace>;
  const channel = channelOf(operation);
  channel.subscribe(subscribers);
  onTestFinished(() => void channel.unsubscribe(subscribers));
  return seen;
}

test('publishes a charge with its key and reference, and never the result', async () => {
  const seen = record('chargeMobileMoney');
  const client = (await startService()).client({ journal: memoryJournal() });
  await client.chargeMobileMoney(charge, { idempotencyKey: `order-17 ${charge.customer_email}` });
  expect(seen.map(([step]) => step)).toEqual(['start', 'end', 'asyncStart', 'asyncEnd']);
  const idempotencyKey = 'order-17 [REDACTED]';
  const start = { operation: 'chargeMobileMoney', attempt: 1, idempotencyKey };
  expect(seen[0]?.[1]).toEqual(start);
  expect(seen.at(-1)?.[1]).toEqual({
    ...start,
    requestId: expect.stringMatching(/^[\da-f-]{36}$/),
    reference: REFERENCE,
    status: 200,
  });
});

test('publishes a check and a poll as verify, without a result', async () => {
  const seen = record('verify');
  const client = (await startService()).client();
  await client.check(REFERENCE);
  await client.waitForFinalStatus(REFERENCE);
  const ended = seen.filter(([step]) => step === 'asyncEnd').map(([, trace]) => trace);
  expect(ended).toHaveLength(2);
  for (const trace of ended) {
    expect(trace).toMatchObject({ operation: 'verify', reference: REFERENCE, status: 200 });
    expect(trace).not.toHaveProperty('result');
    expect(inspect(trace, { depth: 9, showHidden: true })).not.toContain('@');
  }
});

test('publishes status, outcome and error of a failure, with no secret', async () => {
  const echo = { message: `${API_KEY} ${charge.phone} ${charge.customer_email}` };
  const service = await startService(500, echo);
  const seen = record('chargeMobileMoney');
  const failure = await catchError(service.client().chargeMobileMoney(charge));
  expect(failure).toMatchObject({ outcome: 'unknown' });
  expect(seen.map(([step]) => step)).toEqual(['start', 'end', 'error', 'asyncStart', 'asyncEnd']);
  const last = seen.at(-1)?.[1];
  expect(last).toMatchObject({ status: 500, outcome: 'unknown', error: { code: 'outcome_unknown' } });
  for (const secret of [API_KEY, charge.phone, charge.customer_email])
    expect(inspect(last, { depth: 9, showHidden: true })).not.toContain(secret);
});

test('redacts the reference of a transaction', async () => {
  const seen = record('verify');
  const reference = `TXN-${charge.customer_email}`;
  const client = (await startService(200, successBodies.verify({ reference }))).client();
  await client.verify(reference);
  expect(seen.map(([, trace]) => trace.reference)).toEqual(Array(4).fill('[REDACTED]'));
});

test("redacts the caller's own request id", async () => {
  const seen = record('chargeMobileMoney');
  const client = (await startService()).client({ headers: { 'x-request-id': `shop-${charge.phone}` } });
  await client.chargeMobileMoney(charge);
  expect(seen.at(-1)?.[1]).toMatchObject({ requestId: 'shop-[REDACTED]' });
});

test('hides the transaction of a mismatch and the reason of an abort', async () => {
  const seen = record('verify');
  const client = (await startService()).client();
  await catchError(client.verify(REFERENCE, { expect: { amount: 99 } }));
  const reason = Object.assign(new Error(`of ${charge.customer_email}`), { customer: charge });
  await catchError(client.verify(REFERENCE, { signal: AbortSignal.abort(reason) }));
  const failed = seen.filter(([step]) => step === 'error').map(([, trace]) => trace);
  expect(failed).toMatchObject([
    { outcome: null, error: { name: 'TransactionMismatchError' } },
    { outcome: null, error: { message: 'of [REDACTED]' } },
  ]);
  expect(inspect(failed, { depth: 9, showHidden: true })).not.toContain('@example.com');
  // An APM can read what an error does not print.
  for (const { error } of failed)
    for (const name of ['transaction', 'cause', 'customer']) expect(error).not.toHaveProperty(name);
});

test('is the parent of what the request publishes, and of nothing beside it', async () => {
  const spans = new AsyncLocalStorage<string>();
  const channel = channelOf('verify');
  channel.start.bindStore(spans, ({ reference = '' }) => `span of ${reference}`);
  onTestFinished(() => void channel.start.unbindStore(spans));
  const parents: (string | undefined)[] = [];
  const onRequest = () => void parents.push(spans.getStore());
  diagnostics.subscribe('undici:request:create', onRequest);
  onTestFinished(() => void diagnostics.unsubscribe('undici:request:create', onRequest));
  const client = (await startService()).client();
  await Promise.all([client.verify(REFERENCE), client.verify('TXN-other').catch(() => {})]);
  await client.chargeMobileMoney(charge);
  expect(parents.toSorted()).toEqual([`span of ${REFERENCE}`, 'span of TXN-other', undefined]);
  expect(spans.getStore()).toBeUndefined();
});

test.each([
  ['has no getBuiltinModule', undefined],
  ['has no such module', () => undefined],
  [
    'refuses it',
    () => {
      throw new Error('no');
    },
  ],
])('calls the service on a runtime that %s', async (_, getBuiltinModule) => {
  const service = await startService();
  vi.resetModules();
  vi.stubGlobal('process', Object.assign(Object.create(process), { getBuiltinModule }));
  onTestFinished(() => void vi.unstubAllGlobals());
  const { PaymentsClient } = await import('../../../src/index.ts');
  const client = new PaymentsClient({ apiKey: API_KEY, baseUrl: service.baseUrl });
  expect(await client.verify(REFERENCE)).toMatchObject({ status: 'success' });
});

test('subscribes to undici only while a request is under way', async () => {
  const isSubscribed = () => diagnostics.hasSubscribers('undici:client:sendHeaders');
  const seen: boolean[] = [];
  const service = await startService((response) => {
    seen.push(isSubscribed());
    if (seen.length === 3) response.destroy();
    else sendJson(response, 200, successBodies.verify());
  });
  const client = service.client();
  await Promise.all([client.verify(REFERENCE), client.verify(REFERENCE)]);
  expect(isSubscribed()).toBe(false);
  await catchError(client.verify(REFERENCE));
  expect(isSubscribed()).toBe(false);
  expect(seen).toEqual([true, true, true]);
});
