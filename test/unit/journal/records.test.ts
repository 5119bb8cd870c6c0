import { beforeEach, describe, expect, test, vi } from 'vitest';
import { JournalError } from '../../../src/index.ts';
import { getRecords } from '../../../src/journal/core.ts';
import { Records } from '../../../src/journal/records.ts';
import { MAX_DUE_IN } from '../../../src/journal/store.ts';
import { renew } from '../../../src/ledger/outcome.ts';
import { createRecord } from '../../../src/ledger/press.ts';
import type { LedgerRecord } from '../../../src/ledger/record.ts';
import { createJournal, type JournalStore, memoryStore } from '../../../src/stores/index.ts';
import { claimKey, completeKey, made } from '../../helpers/claims.ts';
import { note } from '../../helpers/resolution-note.ts';
import { firstWrite } from '../../helpers/store-writes.ts';

const name = { kind: 'key', id: 'order-17' } as const;
const LEASE = 10_000;
const HOUR = 3_600_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  return () => vi.useRealTimers();
});

/** Counts in the record how often it was applied. */
const count = (before: LedgerRecord | null) => {
  const record = before ?? createRecord({ kind: 'key', service: 's' }, { amount: '1.00', currency: 'GHS' });
  return { record: { ...record, presses: record.presses + 1 } };
};

describe('a change', () => {
  const readCount = async (store: JournalStore) =>
    (await new Records(store, LEASE).read(name)).record?.presses ?? 0;

  test('is applied again to what another process wrote meanwhile', async () => {
    const store = memoryStore();
    const records = new Records(store, LEASE);
    const { found: known } = await records.change(name, count);
    await new Records(store, LEASE).change(name, count);
    await records.change(name, count, { known });
    expect(await readCount(store)).toBe(3);
  });

  test('is applied again if its write failed while another process wrote', async () => {
    const store = memoryStore();
    const write = vi.fn(store.write).mockImplementationOnce(async () => {
      await new Records(store, LEASE).change(name, count);
      throw new Error('the connection is gone');
    });
    await new Records({ ...store, write }, LEASE).change(name, count);
    expect(await readCount(store)).toBe(2);
  });

  test('reads nothing first if the record is known, and writes nothing if the rule changes nothing', async () => {
    const store = memoryStore();
    const [read, write] = [vi.spyOn(store, 'read'), vi.spyOn(store, 'write')];
    const records = new Records(store, LEASE);
    const countCalls = () => [read.mock.calls.length, write.mock.calls.length];
    const { found: known } = await records.change(name, count);
    expect(countCalls()).toEqual([1, 1]);
    const { found } = await records.change(name, count, { known });
    expect(countCalls()).toEqual([1, 2]);
    await records.change(name, (record) => ({ record }), { known: found });
    expect(countCalls()).toEqual([1, 2]);
    await records.change(name, (record) => ({ record, dueIn: 5_000 }), { known: found });
    expect(countCalls()).toEqual([1, 3]);
    expect(await records.countDue('key')).toEqual({ due: 0, nextIn: 5_000 });
  });

  type Write = JournalStore['write'];
  test.each<[string, write: (write: Write) => Write, isDown: boolean, end: unknown, written: number]>([
    [
      'was done, and its result lost',
      (write) =>
        async (...given) => {
          await write(...given);
          throw new Error('the connection is gone');
        },
      false,
      'changed',
      1,
    ],
    [
      'was made twice by a driver',
      (write) =>
        async (...given) => {
          await write(...given);
          return await write(...given);
        },
      false,
      'changed',
      1,
    ],
    [
      'was done, which the store cannot tell',
      (write) =>
        async (...given) => {
          await write(...given);
          throw new Error('the connection is gone');
        },
      true,
      { name: 'JournalError', retryable: true },
      1,
    ],
    [
      'was not done',
      () => () => Promise.reject(new Error('the connection is gone')),
      false,
      { name: 'JournalError', retryable: true },
      0,
    ],
    [
      'was refused by the store, which can read it in a transaction',
      (write) =>
        async (...given) => {
          await write(...given);
          throw new JournalError('in a transaction');
        },
      false,
      { message: 'in a transaction' },
      1,
    ],
    [
      'lost to other processes at each of 100 attempts',
      () => async () => false,
      false,
      { name: 'JournalError', retryable: true },
      0,
    ],
  ])('ends as it should if its write %s', async (_what, toWrite, isDown, end, written) => {
    const store = memoryStore();
    const write = vi.fn(toWrite(store.write));
    const read: JournalStore['read'] = (key) =>
      isDown && write.mock.calls.length > 0 ? Promise.reject(new Error('down')) : store.read(key);
    const change = new Records({ ...store, read, write }, LEASE).change(name, count);
    const ended: unknown = await change.then(
      () => 'changed',
      (error: unknown) => error,
    );
    if (end === 'changed') expect(ended).toBe(end);
    else expect(ended).toMatchObject(Object(end));
    expect(await readCount(store)).toBe(written);
    if (String(ended).includes('each attempt')) expect(write).toHaveBeenCalledTimes(100);
  });
});

describe('the clock', () => {
  /** Records in memory whose clock stands still, where it is set. Each journal is that of another process. */
  function openShared() {
    const store = memoryStore();
    const clock = { now: Date.parse('2031-01-01T12:00:00Z') };
    const read: JournalStore['read'] = async (key) => ({ ...(await store.read(key)), now: clock.now });
    return { store, clock, open: () => createJournal({ ...store, read }, { lease: LEASE }) };
  }

  test('is that of the store, also for processes that are hours apart', async () => {
    const { clock, open } = openShared();
    const { now } = clock;
    const { found } = await claimKey(open(), 'order-17');
    expect(found.record?.payments).toMatchObject([
      { createdAt: now, charge: { is: 'sending', until: now + LEASE } },
    ]);
    for (const [later, state] of [
      [0, 'begun'],
      [LEASE, 'unknown'],
    ] as const) {
      clock.now = now + later;
      for (const apart of [-5 * HOUR, 5 * HOUR, 2 * LEASE]) {
        vi.setSystemTime(Date.now() + apart);
        expect(await open().read('order-17')).toMatchObject({ state, createdAt: now });
      }
    }
    await open().resolve('order-17', 'not_charged', note);
    expect(await open().read('order-17')).toMatchObject({ resolutions: [{ at: now + LEASE }] });
  });

  test.each([
    ['claimed', 0],
    ['renewed', HOUR],
  ])('can be set back: what was %s before is not being sent until it is as late again', async (_, later) => {
    const { clock, open } = openShared();
    const journal = open();
    const { facts } = await claimKey(journal, 'order-17');
    clock.now += later;
    await getRecords(open()).change(facts.name, (before, now) => ({
      record: renew(before, facts.ask.attempt, { lease: LEASE, now }),
    }));
    expect(await open().read('order-17')).toMatchObject({ state: 'begun' });
    clock.now -= HOUR;
    expect(await open().read('order-17')).toMatchObject({ state: 'unknown' });
    await open().resolve('order-17', 'not_charged', note);
  });

  test('runs on between two reads', async () => {
    const { clock, open } = openShared();
    const records = getRecords(open());
    await records.read(name);
    vi.advanceTimersByTime(1_500);
    expect(records.now).toBe(clock.now + 1_500);
  });

  test('is read again after the machine slept', async () => {
    const journal = createJournal(memoryStore(), { lease: LEASE });
    const { found: known } = await claimKey(journal, 'order-17');
    // The monotonic clock stands still meanwhile.
    vi.setSystemTime(Date.now() + 60_000);
    const rule = vi.fn((record: LedgerRecord | null, _now: number) => ({ record }));
    await getRecords(journal).change(name, rule, { known });
    expect(rule.mock.calls.map(([, now]) => now)).toEqual([Date.now()]);
  });
});

describe('what a record is found by', () => {
  function openIndexed(lease: number) {
    const store = memoryStore();
    const write = vi.spyOn(store, 'write');
    return {
      store,
      journal: createJournal(store, { lease }),
      getIndex: () => write.mock.lastCall?.[1].index,
    };
  }

  test('has the time of its latest payment', async () => {
    const { journal, getIndex } = openIndexed(LEASE);
    await completeKey(journal, '17', made('TXN-1'), { kind: 'order' });
    const startedAt = Date.now();
    vi.advanceTimersByTime(60_000);
    await getRecords(journal).change({ kind: 'order', id: '17' }, (before, now) => ({
      record: before && {
        ...before,
        payments: before.payments.flatMap((one) => [one, { ...one, createdAt: now }]),
      },
    }));
    expect(getIndex()).toMatchObject({ createdAt: startedAt + 60_000 });
  });

  test('is due no later than a clock that goes back can show', async () => {
    const { journal, getIndex } = openIndexed(3 * MAX_DUE_IN);
    await claimKey(journal, 'order-17');
    expect(getIndex()?.dueAt).toBeLessThanOrEqual(Date.now() + MAX_DUE_IN);
  });

  test('lists it for a person if it is due and cannot be read', async () => {
    const { store, journal, getIndex } = openIndexed(LEASE);
    const text = '{"format":99}';
    await store.write('key order-17', firstWrite({ dueAt: 1 }, { text }));
    const claimed = await getRecords(journal).claimDue({ kind: 'key', limit: 10, lease: LEASE });
    expect(claimed).toMatchObject([{ key: 'key order-17', found: undefined }]);
    expect(getIndex()).toMatchObject({ attentionAt: 1, dueAt: expect.any(Number) });
    expect(await store.read('key order-17')).toMatchObject({ record: { text } });
  });
});
