import { beforeEach, describe, expect, test, vi } from 'vitest';
import {
  AuthenticationError,
  ConfigurationError,
  JournalError,
  PermissionError,
} from '../../../src/index.ts';
import { getJournalCore } from '../../../src/journal/core.ts';
import { memoryJournal, memoryStore } from '../../../src/journal/index.ts';
import { countDue } from '../../helpers/claims.ts';
import { SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import { findFollowUpEvents, finish, openShop, sweepFor } from '../../helpers/follow-ups.ts';
import { catchError } from '../../helpers/service.ts';

beforeEach(() => {
  fakeClocks();
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});

async function openPaidShop(count: number, options: Parameters<typeof openShop>[0] = {}) {
  const shop = openShop(options);
  for (let order = 1; order <= count; order++)
    shop.service.approve(await finish(shop.charge(`order-${order}`)));
  await pass(8 * SECOND);
  return shop;
}

const always = { times: Number.POSITIVE_INFINITY };

describe('what concerns the client', () => {
  test('ends the sweep with AuthenticationError, and every payment is due at once', async () => {
    const shop = await openPaidShop(100);
    shop.service.fault('verify', { kind: 'status', status: 401 }, always);
    const { sweep, journal } = shop.start();
    expect(await finish(catchError(sweep()))).toBeInstanceOf(AuthenticationError);
    expect(shop.gets.length).toBeLessThanOrEqual(10);
    expect(await countDue(journal)).toMatchObject({ due: 100 });
    expect(shop.attentions).toEqual([]);
  });

  test('is a PermissionError too, if no check succeeds', async () => {
    const shop = await openPaidShop(3);
    shop.service.fault('verify', { kind: 'status', status: 403 }, always);
    expect(await finish(catchError(shop.start().sweep()))).toBeInstanceOf(PermissionError);
    expect(shop.attentions).toEqual([]);
  });

  test('is not a 403 for one payment: it must not stop the others', async () => {
    const shop = await openPaidShop(5, {
      async intercept({ method, url }) {
        if (method === 'POST' || !url.endsWith('TXN-000001')) return undefined;
        return Response.json({ message: 'not yours' }, { status: 403 });
      },
    });
    const followUps = shop.start({}, { polling: { maxConcurrency: 1 } });
    expect(await finish(catchError(followUps.sweep()))).toBeInstanceOf(PermissionError);
    expect(shop.finals).toEqual([]);
    await sweepFor(20 * SECOND, followUps);
    expect(shop.finals).toHaveLength(4);
  });

  test('is not a 403 for one of many: the sweep does all that is due', async () => {
    const shop = await openPaidShop(12, {
      async intercept({ method, url }) {
        if (method === 'POST' || !url.endsWith('TXN-000003')) return undefined;
        return Response.json({ message: 'not yours' }, { status: 403 });
      },
    });
    const { sweep } = shop.start({}, { polling: { maxConcurrency: 2 } });
    expect(await finish(sweep())).toMatchObject({ checked: 12, final: 11, due: 0 });
  });

  test('is an apiKey function that fails', async () => {
    const shop = await openPaidShop(3);
    const apiKey = () => {
      throw new Error('the vault is sealed');
    };
    const { sweep, journal } = shop.start({}, { apiKey });
    expect(await finish(catchError(sweep()))).toBeInstanceOf(ConfigurationError);
    expect(shop.gets).toEqual([]);
    expect(await countDue(journal)).toMatchObject({ due: 3 });
  });

  test('is a client for another service or mode', async () => {
    const shop = await openPaidShop(3);
    for (const options of [{ apiKey: 'sk_other_1' }, { baseUrl: 'https://other.example/api/v1' }]) {
      const { sweep, journal } = shop.start({}, options);
      const error = await finish(catchError(sweep()));
      expect(error).toBeInstanceOf(ConfigurationError);
      expect(error).toHaveProperty('message', expect.stringContaining('another base URL or mode'));
      expect(await countDue(journal)).toMatchObject({ due: 3 });
    }
    expect(shop.gets).toEqual([]);
  });

  test('asks for no API key if nothing is due', async () => {
    const shop = openShop();
    const apiKey = vi.fn(() => 'sk_test_x');
    await finish(shop.start({}, { apiKey }).sweep());
    expect(apiKey).not.toHaveBeenCalled();
  });
});

describe('a journal that fails', () => {
  test('ends the sweep with its error, and what was not recorded is done again', async () => {
    const shop = await openPaidShop(4);
    const followUps = shop.start();
    const { update } = getJournalCore(followUps.journal).followUps;
    let fails = true;
    vi.spyOn(getJournalCore(followUps.journal).followUps, 'update').mockImplementation(
      async (record, ...step) => {
        if (fails && record.key === 'order-2') throw new JournalError('away', { retryable: true });
        return update(record, ...step);
      },
    );
    const error = await finish(catchError(followUps.sweep()));
    expect(error).toBeInstanceOf(JournalError);
    // The others were recorded.
    expect(shop.finals.map(({ key }) => key).sort()).toEqual(['order-1', 'order-3', 'order-4']);
    fails = false;
    await sweepFor(50 * SECOND, followUps);
    expect(shop.finals).toHaveLength(4);
    expect(shop.gets).toHaveLength(5);
  });

  test('is asked again for a moment, so that onFinal is not called twice', async () => {
    const shop = await openPaidShop(1);
    const followUps = shop.start();
    const { update } = getJournalCore(followUps.journal).followUps;
    let failures = 0;
    vi.spyOn(getJournalCore(followUps.journal).followUps, 'update').mockImplementation(
      async (record, followUp, dueIn) => {
        if (followUp.ended && ++failures <= 3) throw new JournalError('away', { retryable: true });
        return update(record, followUp, dueIn);
      },
    );
    expect(await finish(followUps.sweep())).toMatchObject({ final: 1, due: 0 });
    await sweepFor(50 * SECOND, followUps);
    expect(shop.finals).toHaveLength(1);
  });
});

test('reports a record that it cannot read, and goes on with the others', async () => {
  const store = memoryStore();
  const shop = openShop({ openJournal: () => memoryJournal({ store }) });
  for (let order = 1; order <= 5; order++) shop.service.approve(await finish(shop.charge(`order-${order}`)));
  for (const key of ['order-1', 'order-2', 'order-3']) {
    const found = await store.read(key);
    if (!found) throw new Error('no record');
    const index = { kind: 'key', state: 'completed', createdAt: 0, reference: null } as const;
    const text = found.text.replace('"format":2', '"format":3');
    const change = { version: 'newer', text, mustCommit: false, index, dueIn: 0 };
    await store.write(key, { ...change, expected: found.version });
  }
  await pass(8 * SECOND);
  const { sweep } = shop.start({}, { polling: { maxConcurrency: 1 } });
  expect(await finish(sweep())).toMatchObject({ final: 2, due: 0 });
  expect(findFollowUpEvents(shop.events).filter(({ result }) => result === 'unreadable')).toMatchObject([
    { idempotencyKey: 'order-1' },
    { idempotencyKey: 'order-2' },
    { idempotencyKey: 'order-3' },
  ]);
  expect((await store.read('order-1'))?.version).toBe('newer');
});
