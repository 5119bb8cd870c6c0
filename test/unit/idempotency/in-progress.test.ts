import { describe, expect, test } from 'vitest';
import { OutcomeUnknownError, type PaymentsEvent } from '../../../src/index.ts';
import { fakeClocks, pass, turns, until } from '../../helpers/fake-timers.ts';
import { kinds, sharedStore } from '../../helpers/journals.ts';
import { charged, KEY, replayOf } from '../../helpers/keyed-calls.ts';
import { catchError, type Service, sendJson, startService, successBodies } from '../../helpers/service.ts';

/** On a fake clock. */
const LEASE = 10_000;

/** Starts a service that holds each request until it is released. */
async function startHeldService() {
  const held: ((status?: number) => void)[] = [];
  const service = await startService((response, _request, count) => {
    held.push((status = 200) =>
      sendJson(
        response,
        status,
        status === 200 ? successBodies.chargeMobileMoney({ reference: `TXN-${count}` }) : {},
      ),
    );
  });
  return { service, held, respond: (status?: number) => held.shift()?.(status) };
}

/** The claim is written, and its process is killed at that time. */
async function leaveClaim(service: Service, shared: ReturnType<typeof sharedStore>): Promise<void> {
  const { promise: killed, resolve: kill } = Promise.withResolvers<void>();
  const journal = shared.intercepted(['begun'], async (...write) => {
    await shared.store.write(...write);
    kill();
    return await new Promise(() => {});
  });
  charged(service.client({ journal })).catch(() => {});
  await killed;
}

describe.each(kinds)('a charge in progress under another %s handle', (_kind, handles) => {
  async function twoCalls() {
    const { service, held, respond } = await startHeldService();
    const handle = handles();
    const first = charged(service.client({ journal: handle() }));
    first.catch(() => {});
    await until(() => held.length === 1);
    const events: PaymentsEvent[] = [];
    const waits = Promise.withResolvers<void>();
    const onEvent = (event: PaymentsEvent) => {
      events.push(event);
      if (event.type === 'journal' && event.result === 'waiting') waits.resolve();
    };
    const second = charged(service.client({ journal: handle(), onEvent }));
    second.catch(() => {});
    await waits.promise;
    return { service, held, respond, first, second, events };
  }

  test('is waited for, and its result is replayed', async () => {
    const { service, respond, first, second, events } = await twoCalls();
    respond();
    expect(await second).toEqual(replayOf(await first));
    expect(service.requests).toHaveLength(1);
    expect(events).toMatchObject([
      { type: 'journal', result: 'waiting', idempotencyKey: KEY },
      { type: 'journal', result: 'replayed', reference: 'TXN-1' },
    ]);
  });

  test('is waited for, and the waiting call sends once it is rejected', async () => {
    const { service, held, respond, first, second } = await twoCalls();
    respond(422);
    expect(await catchError(first)).toMatchObject({ outcome: 'rejected' });
    await until(() => held.length === 1);
    respond();
    expect(await second).toMatchObject({ reference: 'TXN-2' });
    expect(service.requests).toHaveLength(2);
  });

  test('is waited for, and fails the waiting call once it is unknown', async () => {
    const { service, respond, first, second } = await twoCalls();
    respond(500);
    expect(await catchError(first)).toBeInstanceOf(OutcomeUnknownError);
    expect(await catchError(second)).toBeInstanceOf(OutcomeUnknownError);
    expect(service.requests).toHaveLength(1);
  });
});

/** What the clock of the journal shows at the true time. */
const clocks: [string, (now: number, startedAt: number) => number][] = [
  ["the journal's clock", (now) => now],
  ["our own clock, while the journal's clock does not advance", (_now, startedAt) => startedAt],
  ["our own clock, after the journal's clock went back a day", (now) => now - 24 * 3_600_000],
];

test.each(clocks)('waits a lease for a dead process by %s, then fails with unknown', async (_what, clock) => {
  fakeClocks();
  const startedAt = Date.now();
  const shared = sharedStore(LEASE);
  const { service } = await startHeldService();
  await leaveClaim(service, shared);
  shared.setClock(() => clock(Date.now(), startedAt));

  let ended = false;
  const call = catchError(charged(service.client({ journal: shared.journal() }))).finally(() => {
    ended = true;
  });
  await turns();
  await pass(9_000);
  expect(ended).toBe(false);
  await pass(3_000);
  expect(ended).toBe(true);
  expect(await call).toBeInstanceOf(OutcomeUnknownError);
  expect(service.requests).toEqual([]);
});

test('renews a charge that takes longer than its lease', async () => {
  fakeClocks();
  const shared = sharedStore(LEASE);
  const { service, held, respond } = await startHeldService();
  const first = charged(service.client({ journal: shared.journal(), timeout: 600_000 }));
  await until(() => held.length === 1);
  const second = charged(service.client({ journal: shared.journal() }));
  await turns();
  await pass(45_000);
  expect(shared.states(KEY).filter((state) => state === 'begun').length).toBeGreaterThanOrEqual(13);
  respond();
  await until(() => shared.states(KEY).includes('completed'));
  await pass(1_000);
  expect(await second).toEqual(replayOf(await first));
  expect(service.requests).toHaveLength(1);
});

describe('a wait for a charge in progress', () => {
  /** A call that waits, with stopped clocks. */
  async function waiting(signal?: AbortSignal) {
    fakeClocks();
    const shared = sharedStore(LEASE);
    const { service } = await startHeldService();
    await leaveClaim(service, shared);
    let waits = false;
    const client = service.client({
      journal: shared.journal(),
      onEvent: () => {
        waits = true;
      },
    });
    const call = catchError(charged(client, { signal }));
    await until(() => waits);
    await turns();
    return { service, client, call };
  }

  test.each([
    ['an error', new Error('the customer left')],
    ['text', 'the customer left'],
    ['null', null],
  ])("ends at once with the signal's own reason: %s", async (_what, reason) => {
    const abort = new AbortController();
    const { service, call } = await waiting(abort.signal);
    abort.abort(reason);
    expect(await call).toBe(reason);
    expect(service.requests).toEqual([]);
  });

  test('ends at once when the client is closed', async () => {
    const { service, client, call } = await waiting(new AbortController().signal);
    client.close();
    expect(await call).toMatchObject({ code: 'closed', operation: 'chargeMobileMoney', outcome: 'not_sent' });
    expect(service.requests).toEqual([]);
  });

  test('leaves no listener on the signal and no timer behind', async () => {
    const abort = new AbortController();
    const listeners = new Set<unknown>();
    const { addEventListener, removeEventListener } = abort.signal;
    abort.signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners.add(args[1]);
      addEventListener.apply(abort.signal, args);
    };
    abort.signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners.delete(args[1]);
      removeEventListener.apply(abort.signal, args);
    };
    const { client, call } = await waiting(abort.signal);
    expect(listeners.size).toBeGreaterThan(0);
    client.close();
    await call;
    expect(listeners.size).toBe(0);
  });
});
