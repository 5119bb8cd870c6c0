import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { memoryJournal } from 'payment-collection-client/journal';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { charge, start } from './observed-payments.ts';

const milliseconds = ([seconds, nanoseconds]: readonly [number, number]) => seconds * 1e3 + nanoseconds / 1e6;
const named = (spans: readonly ReadableSpan[], name: string) => spans.filter((span) => span.name === name);

describe('OpenTelemetry from the channels and the events', () => {
  beforeAll(() => context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
  afterAll(() => context.disable());

  it("records a client span of each request, below the caller's span", async () => {
    const { sandbox, payments, tracer, spans } = await start();
    const before = Date.now();
    await tracer.startActiveSpan('checkout', async (checkout) => {
      await payments.initialize({ amount: 1, customer_email: charge.customer_email });
      checkout.end();
    });
    const after = Date.now();
    const [checkout] = named(spans(), 'checkout');
    const [request, ...others] = named(spans(), 'POST /transactions/initialize');
    expect(others).toEqual([]);
    expect(request).toMatchObject({
      kind: SpanKind.CLIENT,
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        'http.request.method': 'POST',
        'http.response.status_code': 200,
        'url.template': '/transactions/initialize',
        'server.address': '127.0.0.1',
        'server.port': Number(new URL(sandbox.url).port),
        'payments.operation': 'initialize',
      },
    });
    expect(request?.parentSpanContext?.spanId).toBe(checkout?.spanContext().spanId);
    const began = milliseconds(request?.startTime ?? [0, 0]);
    const ended = milliseconds(request?.endTime ?? [0, 0]);
    expect(began).toBeGreaterThan(before - 2);
    expect(ended).toBeGreaterThan(began);
    expect(ended).toBeLessThan(after + 2);
  });

  it('records concurrent calls below their own spans', async () => {
    const { payments, tracer, spans } = await start();
    const call = (name: string) =>
      tracer.startActiveSpan(name, async (span) => {
        await payments.initialize({ amount: 1, customer_email: charge.customer_email });
        span.end();
      });
    await Promise.all([call('first'), call('second')]);
    const parents = named(spans(), 'POST /transactions/initialize').map(
      (span) => span.parentSpanContext?.spanId,
    );
    const callers = [...named(spans(), 'first'), ...named(spans(), 'second')];
    expect(parents.toSorted()).toEqual(callers.map((span) => span.spanContext().spanId).toSorted());
  });

  it('is the parent of the HTTP request, and carries the order', async () => {
    const { payments, spans } = await start({ journal: memoryJournal() });
    const parents: (string | undefined)[] = [];
    const onRequest = () => void parents.push(trace.getActiveSpan()?.spanContext().spanId);
    subscribe('undici:request:create', onRequest);
    onTestFinished(() => void unsubscribe('undici:request:create', onRequest));
    const { reference } = await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-17/1' });
    const [span] = named(spans(), 'POST /transactions/charge-mobile-money');
    expect(parents).toEqual([span?.spanContext().spanId]);
    expect(span?.attributes).toMatchObject({
      'payments.idempotency_key': 'order-17/1',
      'payments.reference': reference,
    });
    expect(trace.getActiveSpan()).toBeUndefined();
  });

  it('records the error of a failure and the count of a retry', async () => {
    const { sandbox, payments, tracer, spans, measured } = await start();
    const { reference } = await payments.chargeMobileMoney(charge);
    sandbox.fault('verify', { kind: 'status', status: 503, headers: { 'retry-after': '0' } });
    await tracer.startActiveSpan('order page', async (span) => {
      await payments.verify(reference);
      span.end();
    });
    const [failed, again] = named(spans(), 'GET /transactions/verify/{reference}');
    expect(failed).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'server_error', 'http.response.status_code': 503 },
    });
    expect(failed?.attributes).not.toHaveProperty('http.request.resend_count');
    expect(again).toMatchObject({
      status: { code: SpanStatusCode.UNSET },
      attributes: { 'http.request.resend_count': 1, 'payments.reference': reference },
    });
    expect(named(spans(), 'order page')[0]?.events).toMatchObject([
      { name: 'payments.retry', attributes: { 'error.type': 'server_error' } },
    ]);
    expect((await measured())['payments.retries']).toMatchObject([
      { value: 1, attributes: { 'payments.operation': 'verify', 'error.type': 'server_error' } },
    ]);
  });

  it('records a span of a wait from the charge on, with its polls', async () => {
    const { sandbox, payments, spans, measured } = await start();
    const { reference } = await payments.chargeMobileMoney(charge);
    const startedAt = Date.now() - 60_000;
    const polled = Promise.withResolvers<void>();
    const wait = payments.waitForFinalStatus(reference, { startedAt, onPoll: () => polled.resolve() });
    await polled.promise;
    sandbox.approve(reference);
    await wait;

    const [span] = named(spans(), 'payments wait');
    expect(span).toMatchObject({
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        'payments.reference': reference,
        'payments.wait.result': 'final',
        'payments.status': 'success',
      },
    });
    expect(Math.abs(milliseconds(span?.startTime ?? [0, 0]) - startedAt)).toBeLessThan(2_000);

    const metrics = await measured();
    const final = { 'payments.wait.result': 'final', 'payments.status': 'success' };
    expect(metrics['payments.wait.duration']).toMatchObject([{ attributes: final, value: { count: 1 } }]);
    const polls = metrics['payments.polls'] ?? [];
    expect(polls.find(({ attributes }) => attributes['payments.status'] === 'success')).toMatchObject({
      value: 1,
    });
    expect(
      Number(polls.find(({ attributes }) => attributes['payments.status'] === 'pending')?.value),
    ).toBeGreaterThan(0);
    expect(metrics['payments.poll.lag']).toHaveLength(1);
  });

  it('records no error for a deadline or an abort of a wait', async () => {
    const { payments, spans } = await start();
    const { reference } = await payments.chargeMobileMoney(charge);
    await expect(payments.waitForFinalStatus(reference, { timeout: 30 })).rejects.toThrow();
    const polled = new AbortController();
    const onPoll = () => polled.abort();
    await expect(payments.waitForFinalStatus(reference, { signal: polled.signal, onPoll })).rejects.toThrow();
    const results = named(spans(), 'payments wait').map(({ attributes, status }) => [
      attributes['payments.wait.result'],
      status.code,
    ]);
    expect(results.filter(([result]) => result === 'timeout')).toHaveLength(1);
    expect(results.filter(([result]) => result === 'aborted')).toHaveLength(1);
    expect(results.every(([, code]) => code === SpanStatusCode.UNSET)).toBe(true);
  });

  it('records a failed wait after a rejection', async () => {
    const { sandbox, payments, spans } = await start();
    const { reference } = await payments.chargeMobileMoney(charge);
    sandbox.fault('verify', { kind: 'status', status: 403 });
    await expect(payments.waitForFinalStatus(reference)).rejects.toThrow();
    expect(named(spans(), 'payments wait')).toMatchObject([
      { status: { code: SpanStatusCode.ERROR }, attributes: { 'payments.wait.result': 'failed' } },
    ]);
  });

  it('counts requests in progress, and their durations by status', async () => {
    const { sandbox, payments, measured } = await start({ maxRetries: 0 });
    sandbox.fault('chargeMobileMoney', { kind: 'hang' });
    const end = new AbortController();
    const hanging = payments.chargeMobileMoney(charge, { signal: end.signal });
    await expect.poll(() => sandbox.requests.length, { timeout: 30_000 }).toBe(1);
    const active = { attributes: { 'payments.operation': 'chargeMobileMoney' } };
    expect((await measured())['payments.requests.active']).toMatchObject([{ ...active, value: 1 }]);
    end.abort();
    await expect(hanging).rejects.toMatchObject({ outcome: 'unknown' });
    await payments.chargeMobileMoney(charge);
    const metrics = await measured();
    expect(metrics['payments.requests.active']).toMatchObject([{ ...active, value: 0 }]);
    expect(metrics['payments.request.duration']).toMatchObject([
      { attributes: { 'error.type': 'outcome_unknown' }, value: { count: 1 } },
      { attributes: { 'http.response.status_code': 200 }, value: { count: 1 } },
    ]);
  });

  it('records a key that was used before', async () => {
    const { payments, tracer, spans, measured } = await start({ journal: memoryJournal() });
    await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-17' });
    await tracer.startActiveSpan('again', async (span) => {
      await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-17' });
      span.end();
    });
    const attributes = { 'payments.operation': 'chargeMobileMoney', 'payments.journal.result': 'replayed' };
    expect(named(spans(), 'again')[0]?.events).toMatchObject([{ name: 'payments.journal', attributes }]);
    expect((await measured())['payments.journal']).toMatchObject([{ value: 1, attributes }]);
  });

  it('has no key, phone or email anywhere, and no reference in a metric', async () => {
    const { sandbox, payments, spans, measured } = await start({ journal: memoryJournal(), maxRetries: 0 });
    const idempotencyKey = `${charge.customer_email}/${charge.phone}`;
    const { reference } = await payments.chargeMobileMoney(charge, { idempotencyKey });
    await payments.chargeMobileMoney(charge, { idempotencyKey });
    const echo = { status: false, message: `${sandbox.liveKey} ${charge.phone} ${charge.customer_email}` };
    sandbox.fault('chargeMobileMoney', { kind: 'status', status: 400, body: echo });
    await payments.chargeMobileMoney(charge, { idempotencyKey: null }).catch(() => {});
    sandbox.approve(reference);
    await payments.waitForFinalStatus(reference);
    const shown = spans().map(({ name, attributes, status, events }) => ({
      name,
      attributes,
      status,
      events,
    }));
    const metrics = JSON.stringify(await measured());
    expect(shown.length).toBeGreaterThanOrEqual(4);
    for (const secret of [sandbox.liveKey, charge.phone, charge.customer_email, 'serwaa', '244123456']) {
      expect(JSON.stringify(shown)).not.toContain(secret);
      expect(metrics).not.toContain(secret);
    }
    expect(JSON.stringify(shown)).toContain(reference);
    expect(metrics).not.toContain(reference);
  });
});
