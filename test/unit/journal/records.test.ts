import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { JournalError } from '../../../src/index.ts';
import { getRecords } from '../../../src/journal/core.ts';
import { createJournal, type JournalStore, memoryStore } from '../../../src/journal/index.ts';
import { Records } from '../../../src/journal/records.ts';
import { MAX_DUE_IN } from '../../../src/journal/store.ts';
import { createRecord } from '../../../src/ledger/press.ts';
import type { LedgerRecord } from '../../../src/ledger/record.ts';
import { change, claimKey, completeKey, made } from '../../helpers/claims.ts';
import { sharedStore } from '../../helpers/journals.ts';
import { note } from '../../helpers/resolution-note.ts';
import { catchError } from '../../helpers/service.ts';

const name = { kind: 'key', id: 'order-17' } as const;
const LEASE = 10_000;

/** Counts in the record how often it was applied. */
const count = (before: LedgerRecord | null) => {
  const record = before ?? createRecord({ kind: 'key', service: 's' }, { amount: '1.00', currency: 'GHS' });
  return { record: { ...record, presses: record.presses + 1 } };
};

const readCount = async (store: JournalStore) =>
  (await new Records(store, LEASE).read(name)).record?.presses ?? 0;

/** A store in memory whose calls are counted. */
function createCountedStore() {
  const store = memoryStore();
  const read = vi.spyOn(store, 'read');
  const write = vi.spyOn(store, 'write');
  return { store, read, write, records: new Records(store, LEASE) };
}

describe('a change', () => {
  test('is applied again to what another process wrote meanwhile', async () => {
    const { store, records, write } = createCountedStore();
    const { found } = await records.change(name, count);
    await new Records(store, LEASE).change(name, count);
    const seen: (number | undefined)[] = [];
    const rule = (before: LedgerRecord | null) => {
      seen.push(before?.presses);
      return count(before);
    };
    const { record } = (await records.change(name, rule, { known: found })).found;
    expect(seen).toEqual([1, 2]);
    expect(record?.presses).toBe(3);
    expect(await readCount(store)).toBe(3);
    expect(write).toHaveBeenCalledTimes(4);
  });

  test('reads nothing first if the record is known', async () => {
    const { records, read } = createCountedStore();
    // It has to know the time of the store.
    const known = await records.read(name);
    const { found } = await records.change(name, count, { known });
    await records.change(name, count, { known: found });
    expect(read).toHaveBeenCalledTimes(1);
  });

  test('writes nothing if the rule changes nothing', async () => {
    const { records, write } = createCountedStore();
    await records.change(name, () => ({ record: null }));
    const { found } = await records.change(name, count);
    const { found: after } = await records.change(name, (record) => ({ record }));
    expect(write).toHaveBeenCalledTimes(1);
    expect(after).toMatchObject(found);
    await records.change(name, (record) => ({ record, dueIn: 5_000 }));
    expect(write).toHaveBeenCalledTimes(2);
    expect(await records.countDue('key')).toMatchObject({ due: 0, nextIn: expect.closeTo(5_000, -4) });
  });

  test.each<[string, (write: JournalStore['write']) => JournalStore['write']]>([
    [
      'its result was lost',
      (write) => async (key, change) => {
        await write(key, change);
        throw new Error('the connection is gone');
      },
    ],
    [
      'a driver wrote it twice',
      (write) => async (key, change) => {
        await write(key, change);
        return await write(key, change);
      },
    ],
  ])('is applied once although %s', async (_what, breakWrite) => {
    const store = memoryStore();
    const records = new Records({ ...store, write: breakWrite(store.write) }, LEASE);
    const first = await records.change(name, count);
    await records.change(name, count, { known: first.found });
    expect(await readCount(store)).toBe(2);
  });

  test('fails if a write failed and the store cannot tell whether it was done', async () => {
    const store = memoryStore();
    let isDown = false;
    const records = new Records(
      {
        read: (key) => (isDown ? Promise.reject(new Error('down')) : store.read(key)),
        async write(key, change) {
          const isWritten = await store.write(key, change);
          if (isDown) throw new Error('down');
          return isWritten;
        },
      },
      LEASE,
    );
    const known = await records.read(name);
    isDown = true;
    const failure = await catchError(records.change(name, count, { known }));
    expect(failure).toMatchObject({ name: 'JournalError', retryable: true });
    isDown = false;
    await records.change(name, count, { known });
    expect(await readCount(store)).toBe(2);
  });

  test('fails if the write was not done, and leaves the record', async () => {
    const store = memoryStore();
    const records = new Records({ ...store, write: () => Promise.reject(new Error('down')) }, LEASE);
    expect(await catchError(records.change(name, count))).toMatchObject({ retryable: true });
    expect(await readCount(store)).toBe(0);
  });

  test('does not count if the store refuses it, even if it can be read', async () => {
    const store = memoryStore();
    const refusing = async (...[key, change]: Parameters<JournalStore['write']>) => {
      await store.write(key, change);
      throw new JournalError('in a transaction');
    };
    const records = new Records({ ...store, write: refusing }, LEASE);
    expect(await catchError(records.change(name, count))).toMatchObject({ message: 'in a transaction' });
  });

  test('fails if other processes change the record at each attempt', async () => {
    const store = memoryStore();
    const write = vi.fn(async () => false);
    const records = new Records({ ...store, write }, LEASE);
    expect(await catchError(records.change(name, count))).toMatchObject({
      name: 'JournalError',
      retryable: true,
    });
    expect(write).toHaveBeenCalledTimes(100);
  });
});

describe('the clock', () => {
  const HOUR = 3_600_000;
  const STORE_NOW = Date.parse('2031-01-01T12:00:00Z');

  function fakeTime() {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
  }

  /** A store whose clock stands still, and processes whose clocks the test sets. */
  function openShared() {
    fakeTime();
    const shared = sharedStore(LEASE);
    shared.setClock(() => STORE_NOW);
    return shared;
  }

  test('of a record is that of the store', async () => {
    const shared = openShared();
    const { found } = await claimKey(shared.journal(), 'order-17');
    expect(found.record?.payments).toMatchObject([
      { createdAt: STORE_NOW, charge: { is: 'sending', until: STORE_NOW + LEASE } },
    ]);
    vi.setSystemTime(STORE_NOW + 2 * LEASE);
    expect(await shared.journal().read('order-17')).toMatchObject({ state: 'begun', createdAt: STORE_NOW });
    shared.setClock(() => STORE_NOW + LEASE);
    await shared.journal().resolve('order-17', 'not_charged', note);
    expect(await shared.journal().read('order-17')).toMatchObject({
      resolutions: [{ at: STORE_NOW + LEASE }],
    });
  });

  test('of processes that are hours apart shows the same state', async () => {
    const shared = openShared();
    await claimKey(shared.journal(), 'order-17');
    for (const apart of [-5 * HOUR, 5 * HOUR]) {
      vi.setSystemTime(Date.now() + apart);
      expect(await shared.journal().read('order-17')).toMatchObject({ state: 'begun' });
    }
    shared.setClock(() => STORE_NOW + LEASE);
    for (const apart of [-5 * HOUR, 5 * HOUR]) {
      vi.setSystemTime(Date.now() + apart);
      expect(await shared.journal().read('order-17')).toMatchObject({ state: 'unknown' });
    }
  });

  test('runs on between two reads', async () => {
    const shared = openShared();
    const records = getRecords(shared.journal());
    await records.read(name);
    vi.advanceTimersByTime(1_500);
    expect(records.now).toBe(STORE_NOW + 1_500);
  });

  test('can be set back by two days', async () => {
    fakeTime();
    const store = memoryStore();
    const write = vi.spyOn(store, 'write');
    let now = STORE_NOW;
    const read: JournalStore['read'] = async (key) => ({ ...(await store.read(key)), now });
    const journal = createJournal({ ...store, read }, { lease: LEASE });
    await completeKey(journal, 'order-17', made('TXN-1'));
    await completeKey(journal, 'order-18', { is: 'unknown' });
    now -= 48 * HOUR;
    write.mockClear();
    // What began in the future is not overdue, and nobody is needed for it before it is.
    expect(await journal.read('order-17')).toMatchObject({ state: 'completed', attention: undefined });
    expect(await journal.read('order-18')).toMatchObject({ state: 'unknown', attention: 'unresolved' });
    const records = getRecords(journal);
    await records.change(name, (record) => ({ record: record && { ...record, presses: 9 } }));
    expect(write.mock.lastCall?.[1].index?.dueAt).toBeLessThanOrEqual(now + MAX_DUE_IN);
    await journal.resolve('order-18', 'not_charged', note);
    expect(await journal.read('order-18')).toMatchObject({ resolutions: [{ at: now }] });
    const { found } = await claimKey(journal, 'order-18');
    expect(found.record?.payments).toMatchObject([{ charge: { until: now + LEASE } }]);
  });
});

describe('what a record is found by', () => {
  /** Records in memory, and the index of each write. */
  function openIndexed(lease: number) {
    const store = memoryStore();
    const write = vi.spyOn(store, 'write');
    const journal = createJournal(store, { lease });
    return { store, journal, getIndex: () => write.mock.calls.at(-1)?.[1].index };
  }

  test('has the time of its latest payment', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { journal, getIndex } = openIndexed(LEASE);
    await completeKey(journal, 'order-17', made('TXN-1'));
    vi.advanceTimersByTime(60_000);
    const records = getRecords(journal);
    const added = await records.change(name, (before, now) => {
      const [payment] = before?.payments ?? [];
      if (!before || !payment) throw new Error('there is no payment');
      return { record: { ...before, payments: [payment, { ...payment, createdAt: now }] } };
    });
    expect(getIndex()).toMatchObject({ createdAt: added.found.record?.payments[1]?.createdAt });
  });

  test('is due no later than a clock that goes back can show', async () => {
    const { journal, getIndex } = openIndexed(3 * MAX_DUE_IN);
    await claimKey(journal, 'order-17');
    expect(getIndex()?.dueAt).toBeLessThanOrEqual(Date.now() + MAX_DUE_IN);
  });

  test('lists it for a person if it is due and cannot be read', async () => {
    const { store, journal, getIndex } = openIndexed(LEASE);
    const index = { kind: 'key', createdAt: 1, attentionAt: null, dueAt: 1 } as const;
    await store.write('key order-17', { ...change, text: '{"format":99}', index });
    const records = getRecords(journal);
    const [claimed] = await records.claimDue({ kind: 'key', limit: 10, lease: LEASE });
    expect(claimed).toMatchObject({ key: 'key order-17', found: undefined });
    expect(getIndex()).toMatchObject({ attentionAt: 1, dueAt: expect.any(Number) });
    expect(await store.read('key order-17')).toMatchObject({ record: { text: '{"format":99}' } });
  });
});

test('takes a record without its version for damaged', async () => {
  const read = async () => ({ record: { version: '', text: '{}' }, now: Date.now() });
  const journal = createJournal({ ...memoryStore(), read });
  const error = await catchError(journal.read('order-17'));
  expect(error).toMatchObject({ code: 'journal_error', outcome: 'unknown' });
  expect(error).toHaveProperty('message', expect.stringContaining('what is no record'));
});

test('reads the time of the store again after the machine slept', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const journal = createJournal(memoryStore(), { lease: LEASE });
  const { found: known } = await claimKey(journal, 'order-17');
  // The monotonic clock stands still meanwhile.
  vi.setSystemTime(Date.now() + 60_000);
  const times: number[] = [];
  const rule = (record: LedgerRecord | null, now: number) => {
    times.push(now);
    return { record };
  };
  await getRecords(journal).change(name, rule, { known });
  expect(times).toEqual([Date.now()]);
});
