import { describe, expect, test, vi } from 'vitest';
import { JournalError, OutcomeUnknownError } from '../../../src/index.ts';
import { createJournal, type JournalStore } from '../../../src/stores/index.ts';
import { fakeClocks, pass, turns, until } from '../../helpers/fake-timers.ts';
import { sharedStore } from '../../helpers/journals.ts';
import { charged, KEY } from '../../helpers/keyed-calls.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError, startService } from '../../helpers/service.ts';

/** On a fake clock. */
const LEASE = 10_000;

const down = () => Promise.reject(Object.assign(new Error('terminating connection'), { code: '57P01' }));

/** Returns a journal that resolves `claimed` at a claim, and writes it only after `wake`. */
function hungJournal({ store, intercepted }: ReturnType<typeof sharedStore>) {
  const claimed = Promise.withResolvers<void>();
  const wakes = Promise.withResolvers<void>();
  const hung = intercepted(['begun'], async (...write) => {
    claimed.resolve();
    await wakes.promise;
    return await store.write(...write);
  });
  return { hung, claimed: claimed.promise, wake: wakes.resolve };
}

describe('if the claim cannot be recorded', () => {
  test('sends nothing, with a retryable error', async () => {
    const service = await startService();
    const shared = sharedStore();
    const store: JournalStore = { read: down, write: down };
    const failure = await catchError(
      charged(service.client({ journal: createJournal(store), maxRetries: 3 })),
    );
    expect(failure).toBeInstanceOf(JournalError);
    expect(failure).toMatchObject({
      operation: 'chargeMobileMoney',
      outcome: 'not_sent',
      retryable: true,
      cause: { message: 'terminating connection', code: '57P01' },
    });
    expect(service.requests).toEqual([]);
    await charged(service.client({ journal: shared.journal() }));
    expect(service.requests).toHaveLength(1);
  });

  test('charges if the response of each write was lost', async () => {
    const service = await startService();
    const shared = sharedStore();
    const write = vi.fn<JournalStore['write']>(async (...step) => {
      await shared.store.write(...step);
      return await down();
    });
    const journal = createJournal({ ...shared.store, write });
    await charged(service.client({ journal }));
    expect(shared.states(KEY)).toEqual(['begun', 'completed']);
    expect(write).toHaveBeenCalledTimes(3);
    expect(service.requests).toHaveLength(1);
  });

  test('sends nothing until it is resolved if it might be recorded', async () => {
    fakeClocks();
    const service = await startService();
    const shared = sharedStore(LEASE);
    let isLost = false;
    const broken = createJournal({
      read: (key) => (isLost ? down() : shared.store.read(key)),
      async write(...step) {
        await shared.store.write(...step);
        isLost = true;
        return await down();
      },
    });
    const failure = await catchError(charged(service.client({ journal: broken })));
    expect(failure).toMatchObject({ code: 'journal_error', outcome: 'not_sent', retryable: true });
    const again = catchError(charged(service.client({ journal: shared.journal() })));
    await turns();
    await pass(12_000);
    expect(await again).toBeInstanceOf(OutcomeUnknownError);
    expect(service.requests).toEqual([]);
    await shared.journal().resolve(KEY, 'not_charged', note);
    await charged(service.client({ journal: shared.journal() }));
    expect(service.requests).toHaveLength(1);
  });
});

describe('a journal that does not respond', () => {
  test('times out, sends nothing, and releases a late claim', async () => {
    fakeClocks();
    const service = await startService();
    const shared = sharedStore(LEASE);
    const { hung, claimed, wake } = hungJournal(shared);
    const call = catchError(charged(service.client({ journal: hung })));
    await claimed;
    await turns();
    await pass(16_000);
    expect(await call).toMatchObject({ code: 'journal_error', outcome: 'not_sent', retryable: true });
    wake();
    await until(() => shared.states(KEY).length === 2);
    expect(shared.states(KEY)).toEqual(['begun', 'not_sent']);
    expect(service.requests).toEqual([]);
  });

  test.each(['abort', 'close'])('ends at %s, and releases a late claim', async (by) => {
    fakeClocks();
    const service = await startService();
    const shared = sharedStore(LEASE);
    const { hung, claimed, wake } = hungJournal(shared);
    const abort = new AbortController();
    const client = service.client({ journal: hung });
    const call = catchError(charged(client, { signal: abort.signal }));
    await claimed;
    await turns();
    if (by === 'abort') abort.abort();
    else client.close();
    await turns();
    await pass(1_000);
    if (by === 'abort') expect(await call).toBe(abort.signal.reason);
    else expect(await call).toMatchObject({ code: 'closed', outcome: 'not_sent' });
    wake();
    await until(() => shared.states(KEY).length === 2);
    expect(shared.states(KEY)).toEqual(['begun', 'not_sent']);
    expect(service.requests).toEqual([]);
  });

  test('releases a claim that is written soon, before an abort rejects', async () => {
    const service = await startService();
    const shared = sharedStore();
    const abort = new AbortController();
    const journal = shared.intercepted(['begun'], async (...write) => {
      abort.abort();
      await turns(3);
      return await shared.store.write(...write);
    });
    const call = charged(service.client({ journal }), { signal: abort.signal });
    expect(await catchError(call)).toBe(abort.signal.reason);
    expect(shared.states(KEY)).toEqual(['begun', 'not_sent']);
    expect(service.requests).toEqual([]);
  });
});
