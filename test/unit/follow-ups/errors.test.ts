import { beforeEach, describe, expect, test, vi } from 'vitest';
import {
  AuthenticationError,
  ConfigurationError,
  JournalError,
  PermissionError,
} from '../../../src/index.ts';
import { type JournalStore, memoryJournal } from '../../../src/stores/index.ts';
import { countDue } from '../../helpers/claims.ts';
import { MINUTE, SECOND } from '../../helpers/fake-clock.ts';
import { fakeClocks, pass } from '../../helpers/fake-timers.ts';
import {
  changeText,
  type FollowedShop,
  findFollowUpEvents,
  finish,
  openShop,
  sweepFor,
} from '../../helpers/follow-ups.ts';
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

  test('asks for no API key if nothing is due', async () => {
    const shop = openShop();
    const apiKey = vi.fn(() => 'sk_test_x');
    await finish(shop.start({}, { apiKey }).sweep());
    expect(apiKey).not.toHaveBeenCalled();
  });
});

describe('a journal that fails', () => {
  /** Opens a process whose database fails at the writes of a record that match. */
  function startFailing(shop: FollowedShop, fails: (key: string, text: string) => boolean) {
    const { store } = shop;
    const write: JournalStore['write'] = async (key, change) => {
      if (fails(key, change.text)) throw new Error('away');
      return store.write(key, change);
    };
    return shop.start({}, {}, memoryJournal({ store: { ...store, write } }));
  }

  test('ends the sweep with its error, and what was not recorded is done again', async () => {
    const shop = await openPaidShop(4);
    let isAway = true;
    const followUps = startFailing(shop, (key) => isAway && key === 'key order-2');
    const error = await finish(catchError(followUps.sweep()));
    expect(error).toBeInstanceOf(JournalError);
    // The others were recorded.
    expect(shop.finals.map(({ key }) => key).sort()).toEqual(['order-1', 'order-3', 'order-4']);
    isAway = false;
    await sweepFor(50 * SECOND, followUps);
    expect(shop.finals).toHaveLength(4);
    expect(shop.gets).toHaveLength(5);
  });

  test('is asked again for a moment, so that onFinal is not called twice', async () => {
    const shop = await openPaidShop(1);
    let failures = 0;
    const followUps = startFailing(shop, (_, text) => text.includes('"final":"success"') && ++failures <= 3);
    expect(await finish(followUps.sweep())).toMatchObject({ final: 1, due: 0 });
    await sweepFor(50 * SECOND, followUps);
    expect(failures).toBeGreaterThan(3);
    expect(shop.finals).toHaveLength(1);
  });
});

describe('a record that cannot be read', () => {
  test.each([
    ['of a newer format', (text: string) => text.replace('"format":1', '"format":2')],
    ['that is damaged', (text: string) => text.slice(0, -9)],
  ])('is reported, kept as it is, listed, and stops nothing else: one %s', async (_, damage) => {
    const shop = await openPaidShop(5);
    const keys = ['order-1', 'order-2', 'order-3'];
    for (const key of keys) await changeText(shop.store, `key ${key}`, damage);
    const texts = () =>
      Promise.all(keys.map(async (key) => (await shop.store.read(`key ${key}`)).record?.text));
    const before = await texts();
    const followUps = shop.start({}, { polling: { maxConcurrency: 1 } });
    const { journal, sweep } = followUps;
    expect(await journal.count()).toEqual({ records: 5, attention: 0 });
    expect(await finish(sweep())).toMatchObject({ final: 2, due: 0 });
    const findReported = () =>
      findFollowUpEvents(shop.events).flatMap(({ result, idempotencyKey }) =>
        result === 'unreadable' ? [idempotencyKey] : [],
      );
    expect(findReported()).toEqual(keys);
    expect(await journal.count()).toEqual({ records: 5, attention: 3 });
    const listing = catchError(journal.listAttention().next());
    expect(await listing).toHaveProperty(
      'message',
      expect.stringMatching(/"order-1", "order-2", "order-3" cannot be read/),
    );
    // It is due again after a day, and said again.
    await sweepFor(23 * 60 * MINUTE, followUps);
    expect(findReported()).toEqual(keys);
    await sweepFor(2 * 60 * MINUTE, followUps);
    expect(findReported()).toEqual([...keys, ...keys]);
    expect(await texts()).toEqual(before);
    expect(before).not.toContain(undefined);
    expect(shop.finals).toHaveLength(2);
  });
});

test('reports a record that cannot be told of, and does all others', async () => {
  const shop = await openPaidShop(2);
  const fails = () => {
    throw new Error('the shop is away');
  };
  await finish(shop.start({ onFinal: fails }).sweep());
  // Somebody has edited it.
  await changeText(shop.store, 'key order-1', (text) => text.replaceAll('"25.50"', '"much"'));
  shop.events.length = 0;
  await pass(MINUTE);
  await finish(shop.start().sweep());
  expect(shop.finals).toMatchObject([{ key: 'order-2', status: 'success' }]);
  expect(findFollowUpEvents(shop.events)).toContainEqual(
    expect.objectContaining({ result: 'failed', idempotencyKey: 'order-1', error: expect.any(String) }),
  );
});
